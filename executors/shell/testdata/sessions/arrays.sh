# Arrays.
a=(one two "three four")
echo "${#a[@]} ${a[2]} ${a[@]:1:1}"
a+=(five)
for x in "${a[@]}"; do echo "<$x>"; done
echo "${!a[@]}"
unset 'a[1]'; echo "${a[*]}"
