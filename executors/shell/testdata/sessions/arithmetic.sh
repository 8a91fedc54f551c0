# Numbers.
echo $((7 / 2)) $((7 % 3)) $((2 ** 10)) $((0x1f)) $((1 << 4)) $((5 > 3 ? 1 : 0))
i=5; ((i += 2)); echo $i; ((i > 6)) && echo big
let 'j = i * 2'; echo $j
echo $(( (1 + 2) * 3 ))
