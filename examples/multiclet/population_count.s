; How many of 512 bits are 1: in each word pairs, then fours of bits are added up; two words are added while sums fit into four bits, all while they fit into eight.
; The order of the commands was found by search: it decides which cells they go to, and when they are fetched.
    .data
    .align 8
words:
    .quad 0x0123456789abcdef, 0xffffffffffffffff, 0, 1
    .quad 0x8000000000000000, 0x5555555555555555, 0xfedcba9876543210, 0x00ff00ff00ff00ff

    .text
    .globl population_count
population_count:
    w6 := load_q [words + 48]
    w4 := load_q [words + 32]
    w3 := load_q [words + 24]
    w2 := load_q [words + 16]
    w7 := load_q [words + 56]
    w0 := load_q [words]
    m0 := patch_q 0x55555555, 0x55555555
    w1 := load_q [words + 8]
    w5 := load_q [words + 40]
    t2 := shr_q @w2, 1
    t1 := shr_q @w1, 1
    t0 := shr_q @w0, 1
    jmp [#SP]
    t5 := shr_q @w5, 1
    t3 := shr_q @w3, 1
    t4 := shr_q @w4, 1
    t6 := shr_q @w6, 1
    t7 := shr_q @w7, 1
    t2 := and_q @t2, @m0
    t7 := and_q @t7, @m0
    t4 := and_q @t4, @m0
    t6 := and_q @t6, @m0
    t5 := and_q @t5, @m0
    t1 := and_q @t1, @m0
    w5 := sub_q @w5, @t5
    w4 := sub_q @w4, @t4
    t3 := and_q @t3, @m0
    m1 := patch_q 0x33333333, 0x33333333
    w3 := sub_q @w3, @t3
    t4 := and_q @w4, @m1
    w1 := sub_q @w1, @t1
    w7 := sub_q @w7, @t7
    w2 := sub_q @w2, @t2
    t0 := and_q @t0, @m0
    u3 := shr_q @w3, 2
    u5 := shr_q @w5, 2
    w0 := sub_q @w0, @t0
    u1 := shr_q @w1, 2
    w6 := sub_q @w6, @t6
    u4 := shr_q @w4, 2
    t7 := and_q @w7, @m1
    u7 := shr_q @w7, 2
    u4 := and_q @u4, @m1
    u2 := shr_q @w2, 2
    t5 := and_q @w5, @m1
    t0 := and_q @w0, @m1
    t2 := and_q @w2, @m1
    u6 := shr_q @w6, 2
    u0 := shr_q @w0, 2
    u5 := and_q @u5, @m1
    u7 := and_q @u7, @m1
    w5 := add_q @t5, @u5
    u2 := and_q @u2, @m1
    t3 := and_q @w3, @m1
    t1 := and_q @w1, @m1
    u3 := and_q @u3, @m1
    u0 := and_q @u0, @m1
    t6 := and_q @w6, @m1
    w2 := add_q @t2, @u2
    u6 := and_q @u6, @m1
    w0 := add_q @t0, @u0
    w7 := add_q @t7, @u7
    u1 := and_q @u1, @m1
    w4 := add_q @t4, @u4
    w3 := add_q @t3, @u3
    w1 := add_q @t1, @u1
    s0 := add_q @w0, @w1
    w6 := add_q @t6, @u6
    s3 := add_q @w6, @w7
    s1 := add_q @w2, @w3
    m2 := patch_q 0x0f0f0f0f, 0x0f0f0f0f
    s2 := add_q @w4, @w5
    u3 := shr_q @s3, 4
    t0 := and_q @s0, @m2
    u2 := shr_q @s2, 4
    u1 := shr_q @s1, 4
    m3 := patch_q 0x01010101, 0x01010101
    u2 := and_q @u2, @m2
    u0 := shr_q @s0, 4
    u1 := and_q @u1, @m2
    t2 := and_q @s2, @m2
    u0 := and_q @u0, @m2
    u3 := and_q @u3, @m2
    t3 := and_q @s3, @m2
    b3 := add_q @t3, @u3
    t1 := and_q @s1, @m2
    b2 := add_q @t2, @u2
    b0 := add_q @t0, @u0
    b1 := add_q @t1, @u1
    p1 := add_q @b2, @b3
    p0 := add_q @b0, @b1
    n := add_q @p0, @p1
    n := mul_q @n, @m3
    n := shr_q @n, 56
    setrg_q #RETV, @n
complete
