#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200112L /* isatty, fileno */
#include <unistd.h>
#endif

#include "sst_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sst.h"

/* The scale: steps of 4 degrees from the first character to the last, or of 2 from the first colour to the last. */
#define COLDEST (-4.0f)
#define WARMEST 32.0f
static const char ramp[] = ".:-=+*#%@";
static const int palette[] = {17, 18, 19, 20, 27, 33, 39, 45, 80, 79, 114, 150, 186, 221, 215, 209, 203, 160};
#define RAMP_STEPS ((int)sizeof ramp - 1)
#define PALETTE_STEPS ((int)(sizeof palette / sizeof palette[0]))

/* Where there is no sea: nothing, or dark grey. The colours are those of the terminals' palette of 256. */
#define NO_DATA_CHARACTER ' '
#define NO_DATA_COLOUR 238

/* The upper half of a character cell, in UTF-8: the foreground colours that half, the background the other. */
#define UPPER_HALF "\xe2\x96\x80"
#define COLOUR_OFF "\x1b[0m"

#define MARGIN "     "

int sst_map_colour(void)
{
#if defined(_WIN32)
    return 0;
#else
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(stdout)) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
#endif
}

size_t sst_map_rows_per_line(int colour)
{
    return colour ? 2 : 1;
}

/* Which of so many steps of the scale a temperature is in. */
static int step(float celsius, int steps)
{
    const int at = (int)((celsius - COLDEST) / (WARMEST - COLDEST) * (float)steps);
    return at < 0 ? 0 : at < steps ? at : steps - 1;
}

static int has_data(float celsius)
{
    return celsius > COLDEST; /* The fill value is far below. */
}

static char character(float celsius)
{
    return has_data(celsius) ? ramp[step(celsius, RAMP_STEPS)] : NO_DATA_CHARACTER;
}

static int colour_of(float celsius)
{
    return has_data(celsius) ? palette[step(celsius, PALETTE_STEPS)] : NO_DATA_COLOUR;
}

/* The line below the map that says where the meridians are. Greenwich is in the middle. */
static void print_meridians(void)
{
    char line[SST_MAP_COLUMNS + 1];
    int end = 0;
    memset(line, ' ', sizeof line);
    for (int degrees = -150; degrees <= 150; degrees += 30) {
        char label[16];
        const int length = snprintf(label, sizeof label, "%d%s", abs(degrees), degrees < 0 ? "W" : degrees ? "E" : "");
        const int column = (degrees + 180) * SST_MAP_COLUMNS / 360 - length / 2;
        memcpy(line + column, label, (size_t)length);
        end = column + length;
    }
    printf(MARGIN "%.*s\n", end, line);
}

/* The array begins at 21E. The map is turned by so many columns that it begins at 179W, and Africa is in one piece. */
static size_t turned(size_t column)
{
    const size_t at_179w = (181 - 21) / 4;
    return (column + at_179w) % SST_MAP_COLUMNS;
}

void sst_map_print(const float *values, int colour)
{
    /* The array begins in the south, the map in the north. */
    for (size_t line = SST_MAP_LINES; line-- > 0;) {
        const int latitude = 2 * (SST_MAP_FIRST_LATITUDE + 4 * (int)line) - 89;
        if (line % 2 == 0) printf(MARGIN);
        else printf("%3d%c ", abs(latitude), latitude < 0 ? 'S' : 'N');

        const float *lower = &values[line * sst_map_rows_per_line(colour) * SST_MAP_COLUMNS];
        const float *upper = lower + SST_MAP_COLUMNS; /* Of interest in colour only. */
        for (size_t c = 0; c < SST_MAP_COLUMNS; c++) {
            if (colour) {
                printf("\x1b[38;5;%d;48;5;%dm" UPPER_HALF, colour_of(upper[turned(c)]), colour_of(lower[turned(c)]));
            } else {
                putchar(character(lower[turned(c)]));
            }
        }
        puts(colour ? COLOUR_OFF : "");
    }
    print_meridians();
}

void sst_map_legend(int colour)
{
    printf(MARGIN);
    for (int celsius = (int)COLDEST; celsius < (int)WARMEST; celsius += 4) {
        if (celsius > (int)COLDEST) printf(" %d ", celsius);
        if (colour) {
            const int cool = colour_of((float)celsius + 1), warm = colour_of((float)celsius + 3);
            printf("\x1b[48;5;%dm  \x1b[48;5;%dm  " COLOUR_OFF, cool, warm);
        } else {
            const char mark = character((float)celsius + 1);
            printf("%c%c%c", mark, mark, mark);
        }
    }
    if (colour) printf("  Celsius  \x1b[48;5;%dm  " COLOUR_OFF " land or no data\n", NO_DATA_COLOUR);
    else printf("  Celsius; blank: land or no data\n");
}

void sst_map_bar(float celsius, int colour)
{
    const int length = celsius > 0 ? (int)(2 * celsius + 0.5f) : 0;
    if (colour) printf("\x1b[48;5;%dm", colour_of(celsius));
    for (int i = 0; i < length; i++) putchar(colour ? ' ' : character(celsius));
    if (colour) printf(COLOUR_OFF);
}
