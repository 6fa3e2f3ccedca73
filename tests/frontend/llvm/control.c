int gcd(int a,int b){ while(b){int t=a%b;a=b;b=t;} return a; }
int collatz(unsigned long n){ int k=0; while(n!=1){ n = n%2 ? 3*n+1 : n/2; k++; } return k;}
int sw(int x){ switch(x){case 1: return gcd(x,5); case 2: case 3: x+=77; break; case 100: return 7; case 8: return x*5; case 9: return -x;
    case 12: return x/3; default: x-=1;} return x*3; }

int duff(int n,int m){ int i=0,s=0; if(m) goto mid; top: s+=i*3; if(s>1000) return -1; mid: i++; s^=i; if(i<n) goto top; return s; }
struct S {int a; double b; char c[5];};
static struct S table[3] = {{1,2.0,"ab"},{2,3.5,"cd"}};
long f(int n){ long r=0; for(int i=0;i<n;i++) r+= table[i].a + (long)table[i].b + table[i].c[1]; return r; }

int add(int a,int b){return a+b;} int sub(int a,int b){return a-b;}
static int (*ops[2])(int,int)={add,sub};
int apply(int k,int a,int b){ return ops[k&1](a,b); }
struct P {long x,y,z;}; struct Q {long x,y;};
struct P mk(long a){ struct P p={a,a+1,a+2}; return p; }
struct Q mq(long a){ struct Q p={a,a+1}; return p; }
__attribute__((noinline)) long sum(struct P p){ return p.x+p.y*p.z; }
long usep(long a){ struct P p=mk(a); struct Q q=mq(a*2); p.z+=q.y; return sum(p)+q.x; }
struct Bits { unsigned a : 3; int b : 7; unsigned c : 13; long d : 33; };
static struct Bits bits[3];
long fields(int i, int v) { struct Bits *p = &bits[i % 3 + (i < 0 ? 2 : 0)]; p->a += v; p->b -= v; p->c ^= v; p->d += (long)p->a * p->b - p->c; return p->d; }
unsigned rotated(unsigned x, unsigned k) { return (x << (k & 31)) | (x >> (-k & 31)); }
int saturated(int a, int b) { int r; if (__builtin_sadd_overflow(a, b, &r)) return a < 0 ? -2147483647 - 1 : 2147483647; return r; }
int multiplied(long a, long b) { long r; return __builtin_mul_overflow(a, b, &r) ? -1 : (int)(r % 1000); }
int counted(unsigned long x) { return __builtin_popcountl(x) * 100 + (x ? __builtin_clzl(x) : 64) + (x ? __builtin_ctzl(x) : 64); }
double floats(double x, float y) { double r = __builtin_fabs(x) + __builtin_floor(y) * __builtin_sqrt(y * y);
    return x < y ? r : x != x ? -1 : r - __builtin_round(x) + (long)y; }
int ordered(double a, double b) {
    return (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5 | !(a < b) << 6 | !(a >= b) << 7; }
unsigned char narrow(unsigned char a, signed char b) { a += b; a = a / 3 + a % 7; return a >> 1 ^ b; }
unsigned long widened(unsigned a, int b, unsigned short c) { return (unsigned long)a * a + b + (unsigned long)(c << 3) + (b >> 5) + (a >> 3); }
int vla(int n) { int a[n]; for (int i = 0; i < n; i++) a[i] = i * gcd(i, n); int s = 0; for (int i = n - 1; i >= 0; i--) s += a[i] << (i & 7); return s; }
