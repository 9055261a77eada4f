// Macros that headers of other projects define, with values that no identifier survives. Included before the library's
// headers. Xlib
#define None 0L
#define Bool int
#define Status int
#define True 1
#define False 0
#define Success 0
#define Always 2
#define Above 0
#define Below 1
#define Complex 0
#define Window 0
#define Font 0
#define Expose 12
#define Yield 1
// Qt
#define signals public
#define slots
#define emit
#define foreach(variable, container) for (variable : container)
#define forever for (;;)
// windows.h
#define near
#define far
#define small char
#define hyper 0
#define interface struct
#define IN
#define OUT
#define ERROR 0
#define OPTIONAL
#define DELETE 0x10000
#define CONST const
#define VOID void
#define TRUE 1
#define FALSE 0
#define BOOL int
#define INT int
#define FLOAT float
#define CHAR char
#define STRICT 1
#define TRANSPARENT 1
// <complex.h> and others
#define I (0 + 1)
#define check(x) x !
#define verify(x) x !
#define require(x) x !
#define CHECK(x) x !
#define DEBUG 1
// Behind the standard headers, which take them back.
#include <algorithm>
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
