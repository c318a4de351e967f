/* What is included before everything else where Debian's clang stands in for MSVC: --target=x86_64-pc-windows-msvc with
 * mingw-w64's headers. These take a compiler for one of two, GNU C's or MSVC's own with its other headers: so they see
 * GNU C, by -fgnuc-version, and what comes after them does not. */
#include <_mingw.h>
#ifndef __MINGW_IMPORT
#define __MINGW_IMPORT extern __declspec(dllimport)
#endif

#include <intrin.h>
#include <windows.h>

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef __GNUC__
#undef __GNUC_MINOR__
#undef __GNUC_PATCHLEVEL__

#if !defined _MSC_VER || defined __unix__ || defined __linux__
#error "not a compiler like MSVC"
#endif
