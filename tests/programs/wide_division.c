/* Division of integers of 128 bits, with and without signs. */
#include <stdio.h>
#include <stdlib.h>
typedef __int128 w; typedef unsigned __int128 uw;
static void show(uw x){ printf("%016lx%016lx ", (unsigned long)(x>>64),(unsigned long)x); }
static unsigned long s=88172645463325252ul; static unsigned long rnd(){ s^=s<<13; s^=s>>7; s^=s<<17; return s; }
int main(){ for(int i=0;i<200;i++){ int p=rnd()%128,q=rnd()%128; uw a=(((uw)rnd()<<64)|rnd())>>p, b=(((uw)rnd()<<64)|rnd())>>q; if(!b) b=1; if(i%5==0) b=-b; if(i%7==0) a=-a; if(i%11==0) b=(uw)-1; if(i%13==0&&b!=-1) a=(uw)1<<127; if((w)b==-1 && a==(uw)1<<127) a++;
 show(a/b); show(a%b); show((uw)((w)a/(w)b)); show((uw)((w)a%(w)b)); puts(""); } return 0; }
