    .globl sum
sum:                      ; sum(n): squares of 0 to n - 1
    load_l [#SP + 4]
    load_l 0
    load_l 0
    jmp loop
complete
loop:                     ; @4 = n, @3 = i, @2 = sum
    i := add_l @3, 1
    p := mul_l @4, @4
    s := add_l @4, @p
    c := lt_l @i, @7
    setjf_l @c, done
    setjt_l @c, loop
    loadu_q @10
    loadu_q @i
    loadu_q @s
    add_l @0, 0
complete
done:
    setrg_l #RETV, @2
    setjf_l @0, [#SP]
complete
