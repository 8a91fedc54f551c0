# Formats.
printf '%s-%d-%05.2f-%x\n' text 42 3.14159 255
printf '%-8s|%8s|\n' left right
printf '%s\n' one two three
printf '%q\n' 'a b'
printf -v v '%03d' 7; echo "$v"
