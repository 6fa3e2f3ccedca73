; The innermost procedure of the Whetstone benchmark: six rounds over four numbers in memory.
    .data
    .align 8
e:
    .double 1.0, -1.0, -1.0, -1.0
t:
    .double 0.499975, 2.0
    .text
    .globl pa
pa:
    load_l 0
    jmp round
complete
round:                        ; @2 = rounds done
    j := add_l @2, 1
    c := lt_l @j, 6
    setjt_l @c, round
    setjf_l @c, done
    e1 := load_d [e]
    e2 := load_d [e + 8]
    e3 := load_d [e + 16]
    e4 := load_d [e + 24]
    t := load_d [t]
    t2 := load_d [t + 8]
    a := add_d @e1, @e2
    a := add_d @a, @e3
    a := sub_d @a, @e4
    e1 := mul_d @a, @t
    a := add_d @e1, @e2
    a := sub_d @a, @e3
    a := add_d @a, @e4
    e2 := mul_d @a, @t
    a := sub_d @e1, @e2
    a := add_d @a, @e3
    a := add_d @a, @e4
    e3 := mul_d @a, @t
    a := sub_d @e2, @e1
    a := add_d @a, @e3
    a := add_d @a, @e4
    e4 := div_d @a, @t2
    wr_d @e1, e
    wr_d @e2, e + 8
    wr_d @e3, e + 16
    wr_d @e4, e + 24
    loadu_l @j
    add_l @0, 0
complete
done:
    jmp [#SP]
complete
