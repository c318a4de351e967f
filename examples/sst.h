/*
 * The array of the demo: sea surface temperatures in degrees Celsius.
 */
#ifndef SST_H
#define SST_H

#define SST_RANK 3
#define SST_MONTHS 12                            /* January to December */
#define SST_LATITUDES 90                         /* every 2 degrees from 89S to 89N */
#define SST_LONGITUDES 180                       /* every 2 degrees from 21E eastwards to 19E */
#define SST_SIZE (SST_MONTHS * SST_LATITUDES * SST_LONGITUDES)
#define SST_FILL_VALUE (-9.999999790214768e+33f) /* land, or nothing observed */

#endif
