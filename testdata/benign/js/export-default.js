// want: done 6
export const a = 5
export default a + 1
