/** The smallest input that is still broken in the same way, by leaving out ever smaller parts. */
export async function shrink(
  input: Buffer,
  isBroken: (input: Buffer) => Promise<boolean>,
  triesMax = 2_000,
): Promise<Buffer> {
  let smallest = input
  let tries = 0
  for (let size = input.length >> 1; size > 0 && tries < triesMax; size >>= 1) {
    for (let at = 0; at + size <= smallest.length && tries < triesMax; ) {
      const shorter = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)])
      tries++
      if (await isBroken(shorter)) smallest = shorter
      else at += size
    }
  }
  return smallest
}
