/* The time: that of the simulated processor, which begins with the program, so that a program does the same each time. */

#include "library.h"

typedef long time_t;
struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst; long tm_gmtoff; const char *tm_zone; };
struct timespec { time_t tv_sec; long tv_nsec; };
struct timeval { time_t tv_sec; long tv_usec; };

/* Programs begin on 1 January 2000. */
#define BEGIN 946684800L
#define DAY 86400L

static int64_t microseconds(void) {
    int low = __serve(MICROSECONDS, 0, 0, 0);
    return low < 0 ? -1 : (int64_t)__serve(MICROSECONDS, 1, 0, 0) << 31 | low;
}

long clock(void) { return microseconds(); }

time_t time(time_t *to) {
    int64_t now = microseconds();
    time_t made = now < 0 ? -1 : BEGIN + now / 1000000;
    if (to) *to = made;
    return made;
}

double difftime(time_t end, time_t begin) { return (double)(end - begin); }

int gettimeofday(struct timeval *to, void *zone) {
    int64_t now = microseconds();
    if (now < 0) return -1;
    to->tv_sec = BEGIN + now / 1000000;
    to->tv_usec = now % 1000000;
    return 0;
}

/* (CLOCK_REALTIME is 0; all others begin with the program.) */
int clock_gettime(int which, struct timespec *to) {
    int64_t now = microseconds();
    if (now < 0) return -1;
    to->tv_sec = (which ? 0 : BEGIN) + now / 1000000;
    to->tv_nsec = now % 1000000 * 1000;
    return 0;
}

int timespec_get(struct timespec *to, int base) { return base == 1 && clock_gettime(0, to) == 0 ? base : 0; }

/* --- dates (UTC): the algorithms of H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", whose years begin in March ------------------------------------- */

static long day_of(long year, int month, int day) {
    year -= month <= 2;
    long era = (year >= 0 ? year : year - 399) / 400;
    long of_era = year - era * 400, of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

struct tm *gmtime_r(const time_t *given, struct tm *to) {
    long days = *given / DAY, rest = *given % DAY;
    if (rest < 0) { rest += DAY; days--; }
    long shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097, of_era = shifted - era * 146097;
    long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365, of_year = of_era - (365 * year + year / 4 - year / 100);
    int march = (int)((5 * of_year + 2) / 153), month = march < 10 ? march + 3 : march - 9;
    year += era * 400 + (month <= 2);
    to->tm_sec = (int)(rest % 60);
    to->tm_min = (int)(rest / 60 % 60);
    to->tm_hour = (int)(rest / 3600);
    to->tm_mday = (int)(of_year - (153 * march + 2) / 5 + 1);
    to->tm_mon = month - 1;
    to->tm_year = (int)(year - 1900);
    to->tm_wday = (int)((days % 7 + 11) % 7);
    to->tm_yday = (int)(days - day_of(year, 1, 1));
    to->tm_isdst = 0;
    to->tm_gmtoff = 0;
    to->tm_zone = "GMT";
    return to;
}

static struct tm broken;
struct tm *gmtime(const time_t *given) { return gmtime_r(given, &broken); }
struct tm *localtime_r(const time_t *given, struct tm *to) {
    gmtime_r(given, to);
    to->tm_zone = "UTC";
    return to;
}
struct tm *localtime(const time_t *given) { return localtime_r(given, &broken); }

time_t mktime(struct tm *of) {
    long months = of->tm_year * 12L + of->tm_mon, year = months / 12, month = months % 12;
    if (month < 0) { month += 12; year--; }
    time_t made = (day_of(year + 1900, (int)month + 1, 1) + of->tm_mday - 1) * DAY + of->tm_hour * 3600L + of->tm_min * 60L + of->tm_sec;
    localtime_r(&made, of);
    return made;
}
time_t timegm(struct tm *of) { return mktime(of); }

static const char *const days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"};

/* The week of a year by ISO 8601: that of its Thursday. */
static int week(const struct tm *of, int *year) {
    int monday = (of->tm_wday + 6) % 7, thursday = of->tm_yday - monday + 3;
    long first = day_of(of->tm_year + 1900L, 1, 1), before = first - day_of(of->tm_year + 1899L, 1, 1), whole = day_of(of->tm_year + 1901L, 1, 1) - first;
    *year = of->tm_year + 1900;
    if (thursday < 0) { thursday += (int)before; --*year; }
    else if (thursday >= whole) { thursday -= (int)whole; ++*year; }
    return thursday / 7 + 1;
}

int snprintf(char *to, size_t room, const char *format, ...);

size_t strftime(char *to, size_t room, const char *format, const struct tm *of) {
    size_t size = 0;
    char text[64];
    for (; *format; format++) {
        const char *part = text;
        int hour = of->tm_hour % 12 ? of->tm_hour % 12 : 12, year, number;
        text[0] = *format;
        text[1] = 0;
        if (*format == '%') {
            format++;
            if (*format == 'E' || *format == 'O') format++;
#define NUMBER(form, value) snprintf(text, sizeof text, form, value); break
#define TEXT(form) text[strftime(text, sizeof text, form, of)] = 0; break
            switch (*format) {
            case 'Y': NUMBER("%d", of->tm_year + 1900);
            case 'C': NUMBER("%02d", (of->tm_year + 1900) / 100);
            case 'y': NUMBER("%02d", of->tm_year % 100);
            case 'm': NUMBER("%02d", of->tm_mon + 1);
            case 'd': NUMBER("%02d", of->tm_mday);
            case 'e': NUMBER("%2d", of->tm_mday);
            case 'H': NUMBER("%02d", of->tm_hour);
            case 'I': NUMBER("%02d", hour);
            case 'k': NUMBER("%2d", of->tm_hour);
            case 'l': NUMBER("%2d", hour);
            case 'M': NUMBER("%02d", of->tm_min);
            case 'S': NUMBER("%02d", of->tm_sec);
            case 'j': NUMBER("%03d", of->tm_yday + 1);
            case 'u': NUMBER("%d", of->tm_wday ? of->tm_wday : 7);
            case 'w': NUMBER("%d", of->tm_wday);
            case 'U': NUMBER("%02d", (of->tm_yday + 7 - of->tm_wday) / 7);
            case 'W': NUMBER("%02d", (of->tm_yday + 7 - (of->tm_wday + 6) % 7) / 7);
            case 'V': number = week(of, &year); NUMBER("%02d", number);
            case 'G': week(of, &year); NUMBER("%d", year);
            case 'g': week(of, &year); NUMBER("%02d", year % 100);
            case 's': { struct tm copy = *of; NUMBER("%ld", mktime(&copy)); }
            case 'z': part = "+0000"; break;
            case 'Z': part = of->tm_zone ? of->tm_zone : ""; break;
            case 'a': case 'A': snprintf(text, *format == 'a' ? 4 : sizeof text, "%s", days[of->tm_wday]); break;
            case 'b': case 'h': case 'B': snprintf(text, *format == 'B' ? sizeof text : 4, "%s", months[of->tm_mon]); break;
            case 'p': part = of->tm_hour < 12 ? "AM" : "PM"; break;
            case 'P': part = of->tm_hour < 12 ? "am" : "pm"; break;
            case 'n': part = "\n"; break;
            case 't': part = "\t"; break;
            case 'D': case 'x': TEXT("%m/%d/%y");
            case 'T': case 'X': TEXT("%H:%M:%S");
            case 'R': TEXT("%H:%M");
            case 'r': TEXT("%I:%M:%S %p");
            case 'F': TEXT("%Y-%m-%d");
            case 'c': TEXT("%a %b %e %H:%M:%S %Y");
            default: text[0] = *format;
            }
            if (!*format) break;
        }
        size_t more = strlen(part);
        if (size + more >= room) return 0;
        memcpy(to + size, part, more);
        size += more;
    }
    to[size] = 0;
    return size;
}

char *asctime_r(const struct tm *of, char *to) {
    strftime(to, 26, "%a %b %e %H:%M:%S %Y\n", of);
    return to;
}
char *asctime(const struct tm *of) {
    static char text[26];
    return asctime_r(of, text);
}
char *ctime(const time_t *given) { return asctime(localtime(given)); }
