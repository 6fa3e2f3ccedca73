"""Coefficients of the elementary functions' polynomials, the constant first. Made by ``python -m tools.coefficients``; not to be edited.

Behind each is how many bits of what it stands for its largest error leaves.
"""

from __future__ import annotations

from typing import Final


def _hex(*numbers: str) -> tuple[float, ...]:
    return tuple([float.fromhex(number) for number in numbers])


#: (exp(r) - 1 - r) / r**2, |r| <= log(2)/2: 27.74 bits.
EXP_F32: Final = _hex("0x1.fffffc0000000p-2", "0x1.5554900000000p-3", "0x1.5558f60000000p-5", "0x1.123a600000000p-7", "0x1.6a22800000000p-10")

#: (exp(r) - 1 - r) / r**2, |r| <= log(2)/2: 56.65 bits.
EXP_F64: Final = _hex(
    "0x1.000000000000ap-1",
    "0x1.55555555554fap-3",
    "0x1.55555555507e7p-5",
    "0x1.1111111127c6cp-7",
    "0x1.6c16c1844c02ep-10",
    "0x1.a01a012a4c67cp-13",
    "0x1.a01999accbd96p-16",
    "0x1.71df25006e1c0p-19",
    "0x1.28adce5c99541p-22",
    "0x1.ad80b61830080p-26",
)

#: (log(1 + f) - f + f**2/2) / f**3, f from sqrt(1/2) - 1 to sqrt(2) - 1: 27.25 bits.
LOG_F32: Final = _hex(
    "0x1.5555540000000p-2",
    "-0x1.0002260000000p-2",
    "0x1.99a0020000000p-3",
    "-0x1.54726c0000000p-3",
    "0x1.22dada0000000p-3",
    "-0x1.0d84900000000p-3",
    "0x1.05558a0000000p-3",
    "-0x1.38a9c40000000p-4",
)

#: (log((1 + s) / (1 - s)) / s - 2) / s**2 by s**2, |s| <= 0.1717: 58.22 bits.
LOG_F64: Final = _hex(
    "0x1.5555555555593p-1",
    "0x1.999999997fa23p-2",
    "0x1.249249422767ap-2",
    "0x1.c71c51da0f2b5p-3",
    "0x1.746649c2ffae1p-3",
    "0x1.39a0774f3e1c3p-3",
    "0x1.2f14419b148b6p-3",
)

#: (atanh(s) / s - 1 - s**2/3) / s**4 by s**2, |s| <= 0.1717: 73.08 bits.
LOG_WORDS: Final = _hex(
    "0x1.9999999999996p-3",
    "0x1.2492492492f59p-3",
    "0x1.c71c71c594f82p-4",
    "0x1.745d182a5077dp-4",
    "0x1.3b13647c37c60p-4",
    "0x1.11207bf28ac75p-4",
    "0x1.de3b433514f35p-5",
    "0x1.ead8fe84d247ap-5",
)

#: log2(1 + f) / f, f from sqrt(1/2) - 1 to sqrt(2) - 1: 38.48 bits.
LOG2_POW: Final = _hex(
    "0x1.71547652b592bp+0",
    "-0x1.71547651b7862p-1",
    "0x1.ec709de31ec0dp-2",
    "-0x1.71547887a5521p-2",
    "0x1.2776b6d89e0e8p-2",
    "-0x1.ec6f2e360c333p-3",
    "0x1.a61b7a3eb027bp-3",
    "-0x1.7188cdfdfb4d5p-3",
    "0x1.481fef2427ac2p-3",
    "-0x1.23d6a54fea71ap-3",
    "0x1.0acba4a7811ffp-3",
    "-0x1.13b549fb27f57p-3",
    "0x1.0f6a54d3f3912p-3",
    "-0x1.1dc0d939c96c9p-4",
)

#: 2**r, |r| <= 1/2: 28.99 bits.
EXP2_POW: Final = _hex(
    "0x1.0000000260775p+0",
    "0x1.62e430c92d677p-1",
    "0x1.ebfbdadb19e2bp-3",
    "0x1.c6aed31dbe932p-5",
    "0x1.3b2dbb8cafaf9p-7",
    "0x1.5f46370117a88p-10",
    "0x1.41d46ce377af6p-13",
)

#: (sin(r) / r - 1) / r**2 by r**2, |r| <= pi/4: 27.99 bits.
SIN_F32: Final = _hex("-0x1.5555460000000p-3", "0x1.11077c0000000p-7", "-0x1.9955900000000p-13")

#: (cos(r) - 1 + r**2/2) / r**4 by r**2, |r| <= pi/4: 33.13 bits.
COS_F32: Final = _hex("0x1.55554a0000000p-5", "-0x1.6c0c1a0000000p-10", "0x1.99e0ee0000000p-16")

#: (sin(r) / r - 1) / r**2 by r**2, |r| <= pi/4: 57.86 bits.
SIN_F64: Final = _hex(
    "-0x1.5555555555549p-3", "0x1.111111110f891p-7", "-0x1.a01a019c11cf0p-13", "0x1.71de357653abep-19", "-0x1.ae5e64369b0f6p-26", "0x1.5d92351ed84a4p-33"
)

#: (cos(r) - 1 + r**2/2) / r**4 by r**2, |r| <= pi/4: 63.59 bits.
COS_F64: Final = _hex(
    "0x1.555555555554cp-5", "-0x1.6c16c16c15210p-10", "0x1.a01a019cbcd3ap-16", "-0x1.27e4f8104201ep-22", "0x1.1ee9ef539017bp-29", "-0x1.8fb002a40a260p-37"
)

#: (sinh(r) / r - 1) / r**2 by r**2, |r| <= log(2)/2: 61.66 bits.
SINH_F64: Final = _hex("0x1.5555555555559p-3", "0x1.111111110f62ap-7", "0x1.a01a01b020f59p-13", "0x1.71ddf7ab97d3bp-19", "0x1.af6000a996434p-26")

#: (cosh(r) - 1) / r**2 by r**2, |r| <= log(2)/2: 69.88 bits.
COSH_F64: Final = _hex(
    "0x1.0000000000000p-1", "0x1.5555555555558p-5", "0x1.6c16c16c14ff5p-10", "0x1.a01a01ad83bd9p-16", "0x1.27e4cc014ea0ap-22", "0x1.1f8bfd4fba139p-29"
)

#: (atan(t) / t - 1) / t**2 by t**2, |t| <= tan(pi/8): 57.59 bits.
ATAN_F64: Final = _hex(
    "-0x1.555555555553dp-2",
    "0x1.9999999995888p-3",
    "-0x1.24924922ae577p-3",
    "0x1.c71c70e6728a4p-4",
    "-0x1.745cf8e6acdd4p-4",
    "0x1.3b1119b8c7d80p-4",
    "-0x1.10ebbdd29cc21p-4",
    "0x1.df0f83f2e6753p-5",
    "-0x1.9cd333d4577bbp-5",
    "0x1.37d4fc8c362c9p-5",
    "-0x1.256368ee36520p-6",
)

#: (atan(t) / t - 1) / t**2 by t**2, |t| <= tan(pi/8): 30.39 bits.
ATAN_F32: Final = _hex("-0x1.55554a0000000p-2", "0x1.9991e40000000p-3", "-0x1.23b9da0000000p-3", "0x1.b2280a0000000p-4", "-0x1.f2f8760000000p-5")

#: (asin(t) / t - 1) / t**2 by t**2, |t| <= 1/2: 30.99 bits.
ASIN_F32: Final = _hex(
    "0x1.55554c0000000p-3", "0x1.3338aa0000000p-4", "0x1.6ca7e60000000p-5", "0x1.04cc580000000p-5", "0x1.d59b640000000p-7", "0x1.34977c0000000p-5"
)

#: (asin(t) / t - 1) / t**2 by t**2, |t| <= 1/2: 59.1 bits.
ASIN_F64: Final = _hex(
    "0x1.5555555555578p-3",
    "0x1.333333332df1bp-4",
    "0x1.6db6db722ae74p-5",
    "0x1.f1c71a8bf3e84p-6",
    "0x1.6e8bdfca46866p-6",
    "0x1.1c49e27afb069p-6",
    "0x1.ca2085a264592p-7",
    "0x1.7580d81a5e189p-7",
    "0x1.6142f488078acp-7",
    "0x1.e6cc3fe0d6558p-9",
    "0x1.62fca440f03e0p-6",
    "-0x1.56996d60b3f15p-6",
    "0x1.0ab0af98de489p-5",
)

#: 1 over the cube root, from sqrt(1/2) to sqrt(2): 14.69 bits.
CBRT_F32: Final = _hex("0x1.dfdef80000000p+0", "-0x1.dc9bae0000000p+0", "0x1.8fab040000000p+0", "-0x1.6797e60000000p-1", "0x1.06e0da0000000p-3")

#: erf(t) / t - 1 by t**2, |t| <= 1: 29.49 bits.
ERF_F32: Final = _hex(
    "0x1.06eba80000000p-3",
    "-0x1.8127400000000p-2",
    "0x1.ce2d500000000p-4",
    "-0x1.b7fe900000000p-6",
    "0x1.542e0c0000000p-8",
    "-0x1.a50abe0000000p-11",
    "0x1.4c32e00000000p-14",
)

#: -log(erfc(x)) / x - 1, x from 1 to 3.95: 29.91 bits.
ERFC_F32: Final = _hex(
    "0x1.07b7040000000p-3",
    "0x1.44f3ac0000000p-1",
    "0x1.b664fc0000000p-4",
    "-0x1.9089700000000p-6",
    "0x1.040b480000000p-8",
    "-0x1.a71a300000000p-12",
    "0x1.451dcc0000000p-16",
)

#: erf(t) / t - 9/8 by t**2, |t| <= 1: 56.93 bits.
ERF_F64: Final = _hex(
    "0x1.baea08536da13p-9",
    "-0x1.812746b0379c2p-2",
    "0x1.ce2f21a041044p-4",
    "-0x1.b82ce31206c09p-6",
    "0x1.565bccfaab1ebp-8",
    "-0x1.c02db0752d0a6p-11",
    "0x1.f9a2bfa46040ep-14",
    "-0x1.f4ca9748d27c2p-17",
    "0x1.b98293ddb049fp-20",
    "-0x1.5c1771fe271b5p-23",
    "0x1.d7883d08a4b6ap-27",
    "-0x1.acea64ce3b283p-31",
)

#: (1 + 2 x) exp(x**2) erfc(x) by q = (x - 4) / (x + 4), x from 1/2 to 28: 54.26 bits.
ERFC_F64: Final = _hex(
    "0x1.3ba5916e9fd7fp+0",
    "-0x1.1df1ad154a28ep-3",
    "0x1.f7f5df66fd75ep-7",
    "0x1.16ecefcfa52c3p-4",
    "-0x1.9ddb23c3e8d80p-4",
    "0x1.7fee004e14a20p-4",
    "-0x1.0fb06dfe4f2dep-4",
    "0x1.3079edf6231e5p-5",
    "-0x1.09623883bf475p-6",
    "0x1.49c672a89d2cbp-8",
    "-0x1.8d4a9b463fbbep-11",
    "-0x1.a1df43c64eee3p-13",
    "0x1.3be0591748411p-13",
    "-0x1.9954fa64bcf89p-16",
    "-0x1.788a3e0f5d4cdp-17",
    "0x1.7ef5f2214f908p-18",
    "0x1.3af8602b148e1p-22",
    "-0x1.b8051194fe41cp-21",
    "0x1.42b15590a56bdp-24",
    "0x1.bbccaaf6f65f7p-24",
    "-0x1.38c1e0cb03e83p-26",
    "-0x1.4c821fe32eec5p-27",
    "0x1.061c410387ecep-29",
)

#: exp(x**2) erfc(x) by q = (x - 5/2) / (x + 5/2), x from 1 to 6, for 1 - erfc(x): 55.5 bits.
ERF_TAIL_F64: Final = _hex(
    "0x1.afbb3f3b734aap-3",
    "-0x1.7ca88dec22b40p-2",
    "0x1.01c11a732e636p-2",
    "-0x1.00115439722c2p-3",
    "0x1.470ba27cfd532p-5",
    "-0x1.05baeadfa4473p-8",
    "-0x1.5a5482ee3d506p-9",
    "0x1.cb38fad1d615cp-11",
    "0x1.db659176d6dc0p-13",
    "-0x1.1e7eb4d8965f2p-13",
    "-0x1.ac342cab74de1p-15",
)

#: (1 - gamma(1 + t)) / (t (1 - t)) - 1/2 by t - 1/2, t from 0 to 1: 56.85 bits.
GAMMA_NEAR: Final = _hex(
    "-0x1.6fe246d3bdaaap-5",
    "-0x1.08ea88ee561b4p-3",
    "0x1.49f6dbfb3bab8p-3",
    "-0x1.69694049f574ep-4",
    "0x1.0dd844328209ap-4",
    "-0x1.5f038327e2355p-5",
    "0x1.dc6e890fe1cf8p-6",
    "-0x1.3d9d6ab29b207p-6",
    "0x1.a8de125f913f1p-7",
    "-0x1.1b8a12765aea8p-7",
    "0x1.7a61c58533815p-8",
    "-0x1.f8bc1348465f1p-9",
    "0x1.50953e28ef0dfp-9",
    "-0x1.c10587f305af8p-10",
    "0x1.2b75273d5d3f6p-10",
    "-0x1.8d0258000a161p-11",
    "0x1.07ed70460cd4ap-11",
    "-0x1.747219fc77d8cp-12",
    "0x1.f99b076556031p-13",
    "-0x1.bb39bd4939a19p-14",
    "0x1.09269b25d105fp-14",
    "-0x1.11613d006d9a3p-13",
    "0x1.8291fb664d5c1p-14",
)

#: (gamma(x) e**x x**(1/2 - x) / sqrt(2 pi) - 1) x by 1 / x, x from 8 on: 63.47 bits.
GAMMA_FAR: Final = _hex(
    "0x1.5555555555558p-4",
    "0x1.c71c71c713599p-9",
    "-0x1.5f7268e879b76p-9",
    "-0x1.e13cfba93ee45p-13",
    "0x1.9b10e5eb2f38dp-11",
    "0x1.23b66418d5869p-14",
    "-0x1.34ea050d21f75p-11",
    "-0x1.5fa5b8d89db13p-14",
    "0x1.16ccb5f9ec3ebp-10",
    "-0x1.c6c3bc37d781fp-11",
)

#: (sin(pi r) / (pi r) - 1) / r**2 by r**2, |r| <= 1/2: 61.54 bits.
SIN_OF_PI: Final = _hex(
    "-0x1.a51a6625307d3p+0",
    "0x1.9f9cb402bc42ep-1",
    "-0x1.86a8e4720a5f7p-3",
    "0x1.ac6805ccb2377p-6",
    "-0x1.338169a4191c7p-9",
    "0x1.3746a580a72fbp-13",
    "-0x1.d3e7f103638e4p-18",
    "0x1.075936cbe2002p-22",
)

#: (sin(r) / r - 1) / r**2 by r**2, |r| <= pi/4: 19.09 bits.
SIN_16: Final = _hex("-0x1.5544760000000p-3", "0x1.0b87b80000000p-7")

#: (cos(r) - 1) / r**2 by r**2, |r| <= pi/4: 16.29 bits.
COS_16: Final = _hex("-0x1.ffc52e0000000p-2", "0x1.4bac0c0000000p-5")

#: 2**r, |r| <= 1/2: 13.7 bits.
EXP2_11: Final = _hex("0x1.fff6900000000p-1", "0x1.62f32e0000000p-1", "0x1.f0dfd80000000p-3", "0x1.c3f4e20000000p-5")

#: log2(1 + f) / f, f from sqrt(1/2) - 1 to sqrt(2) - 1: 11.47 bits.
LOG2_11: Final = _hex("0x1.7138ae0000000p+0", "-0x1.72d6c40000000p-1", "0x1.05c22e0000000p-1", "-0x1.4f9e960000000p-2")

#: (atan(t) / t - 1) / t**2 by t**2, |t| <= 1: 12.06 bits.
ATAN_11: Final = _hex("-0x1.4fcbd00000000p-2", "0x1.4849a80000000p-3", "-0x1.82b8d00000000p-5")

#: 2**r, |r| <= 1/2: 18.53 bits.
EXP2_16: Final = _hex("0x1.ffffe60000000p-1", "0x1.62e0da0000000p-1", "0x1.ec06f00000000p-3", "0x1.ca15bc0000000p-5", "0x1.39952e0000000p-7")

#: log2(1 + f) / f, f from sqrt(1/2) - 1 to sqrt(2) - 1: 19.77 bits.
LOG2_16: Final = _hex(
    "0x1.71548e0000000p+0",
    "-0x1.7156900000000p-1",
    "0x1.ec297e0000000p-2",
    "-0x1.6fff400000000p-2",
    "0x1.2ecab00000000p-2",
    "-0x1.13c7f60000000p-2",
    "0x1.5f85620000000p-3",
)

#: (atan(t) / t - 1) / t**2 by t**2, |t| <= 1: 16.58 bits.
ATAN_16: Final = _hex(
    "-0x1.55498c0000000p-2", "0x1.979b860000000p-3", "-0x1.15d8fe0000000p-3", "0x1.5d55b20000000p-4", "-0x1.376ebe0000000p-5", "0x1.07adf80000000p-7"
)

#: log2(e) in words.
LOG2_E_F32: Final = _hex("0x1.7154760000000p+0", "0x1.4ae0c00000000p-26")

#: log10(e) in words.
LOG10_E_F32: Final = _hex("0x1.bcb7b20000000p-2", "-0x1.5b235e0000000p-27")

#: log10(2), the first word of 12 bits.
SHORT_LOG10_2_F32: Final = _hex("0x1.3440000000000p-2", "0x1.3509f80000000p-18")

#: 2 / log(2) in words.
TWO_LOG2_E: Final = _hex("0x1.71547652b82fep+1", "0x1.777d0ffda0d24p-55")

#: 2 / log(10) in words.
TWO_LOG10_E: Final = _hex("0x1.bcb7b1526e50ep-1", "0x1.95355baaafad3p-56")

#: LN2 in words.
LN2_F32: Final = _hex("0x1.62e4300000000p-1", "-0x1.05c6100000000p-29")
LN2_F64: Final = _hex("0x1.62e42fefa39efp-1", "0x1.abc9e3b39803fp-56")

#: LN10 in words.
LN10_F32: Final = _hex("0x1.26bb1c0000000p+1", "-0x1.12aaba0000000p-25")
LN10_F64: Final = _hex("0x1.26bb1bbb55516p+1", "-0x1.f48ad494ea3e9p-53")

#: LOG10_2 in words.
LOG10_2_F32: Final = _hex("0x1.3441360000000p-2", "-0x1.ec10c00000000p-27")
LOG10_2_F64: Final = _hex("0x1.34413509f79ffp-2", "-0x1.9dc1da994fd21p-59")

#: pi/2 in words.
PI_HALVES_F32: Final = _hex("0x1.921fb60000000p+0", "-0x1.777a5c0000000p-25", "-0x1.ee59da0000000p-50")
PI_HALVES_F64: Final = _hex("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")

#: sqrt(2 pi / e) in words.
ROOT_TWO_PI_OVER_E: Final = _hex("0x1.8535745aa7957p+0", "-0x1.aa191844fc311p-54")

#: The first 1280 bits of 2/pi behind the point.
TWO_OVER_PI: Final = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0"
    "06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4"
    "9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d"
    "7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)
TWO_OVER_PI_BITS: Final = 1280
