/** As many digits after the point as any value may have. */
const unboundedScale = 200

/** Digits after the point that a column of this type keeps; below zero it rounds even whole numbers. */
export function scaleOf(type: string): number {
  if (type === 'numeric') return unboundedScale
  return Number(/^numeric\(\d+,(-?\d+)\)$/.exec(type)?.[1] ?? 0)
}
