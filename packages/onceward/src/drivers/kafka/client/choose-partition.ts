const seed = 0x9747b28c
const multiplier = 0x5bd1e995

/** The hash of Java's default partitioner, so every producer sends a key to the same partition. */
export function murmur2(data: Uint8Array): number {
  const { length } = data
  let hash = seed ^ length
  let at = 0
  for (; at + 4 <= length; at += 4) {
    let word = data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | (data[at + 3]! << 24)
    word = Math.imul(word, multiplier)
    word ^= word >>> 24
    hash = Math.imul(hash, multiplier) ^ Math.imul(word, multiplier)
  }
  const tail = length - at
  if (tail === 3) hash ^= data[at + 2]! << 16
  if (tail >= 2) hash ^= data[at + 1]! << 8
  if (tail >= 1) hash = Math.imul(hash ^ data[at]!, multiplier)
  hash = Math.imul(hash ^ (hash >>> 13), multiplier)
  return hash ^ (hash >>> 15)
}

/**
 * Chooses by key. Records without a key go to the partition of `turn`, so those of one call stay together.
 */
export function choosePartition(key: Buffer | null, partitions: number, turn: number): number {
  return (key === null ? turn : murmur2(key) & 0x7fffffff) % partitions
}
