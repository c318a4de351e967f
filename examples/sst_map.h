/*
 * Temperatures in a terminal: maps of the world and bars, in colour or in plain ASCII.
 */
#ifndef SST_MAP_H
#define SST_MAP_H

#include <stddef.h>

/*
 * A map is SST_MAP_LINES lines of SST_MAP_COLUMNS characters, each 8 degrees of latitude high and 4 of longitude wide.
 * In colour a line holds two rows of values, one above the other; in plain ASCII, one. The first row is the array's row
 * SST_MAP_FIRST_LATITUDE, at 73S: south of it there are only ice and land.
 */
#define SST_MAP_LINES 20
#define SST_MAP_COLUMNS 90
#define SST_MAP_FIRST_LATITUDE 8

/* 1 if standard output is a terminal with colours and NO_COLOR (https://no-color.org) is not set, else 0. */
int sst_map_colour(void);

/* How many rows of values a line of the map shows. */
size_t sst_map_rows_per_line(int colour);

/* Prints a map of SST_MAP_LINES * sst_map_rows_per_line(colour) rows of SST_MAP_COLUMNS values, the south first. */
void sst_map_print(const float *values, int colour);

/* Prints what the colours or characters mean. */
void sst_map_legend(int colour);

/* Prints a bar, two characters for each degree above 0. */
void sst_map_bar(float celsius, int colour);

#endif
