// want: done 2
1 + 1
