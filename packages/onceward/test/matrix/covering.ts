import { type Combination, has, nameOf, type Pair, pairs } from './dimensions.ts'
import { choosable } from './refusal.ts'

/** Numbers below `limit`, the same for the same seed. */
export function randomFrom(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return limit => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

/**
 * Few combinations in which every pair that may be chosen stands at least once: always the one with the most
 * new pairs.
 */
export function coveringCombinations(): readonly Combination[] {
  const left = new Set<Pair>(pairs.filter(pair => choosable.some(one => has(one, pair))))
  const chosen: Combination[] = []
  while (left.size > 0) {
    const gain = (one: Combination) => [...left].filter(pair => has(one, pair)).length
    let best = choosable[0]!
    let most = 0
    for (const one of choosable) {
      const gained = gain(one)
      if (gained > most) [best, most] = [one, gained]
    }
    chosen.push(best)
    for (const pair of left) if (has(best, pair)) left.delete(pair)
  }
  return chosen
}

/** More of them, drawn by a seed; none that is among `others`. */
export function drawnCombinations(
  count: number,
  seed: number,
  others: readonly Combination[],
): readonly Combination[] {
  const random = randomFrom(seed)
  const names = new Set(others.map(nameOf))
  const drawn: Combination[] = []
  while (drawn.length < count) {
    const one = choosable[random(choosable.length)]!
    if (names.has(nameOf(one))) continue
    names.add(nameOf(one))
    drawn.push(one)
  }
  return drawn
}
