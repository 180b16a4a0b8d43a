import { Draws } from '../../src/testing/simulator/draws.ts'
import { Coverage } from './coverage.ts'
import type { Target } from './target.ts'
import { vary } from './vary.ts'

export interface Exploration {
  readonly inputs: number
  readonly corpus: number
  readonly reached: number
  /** The longest time of one input, on a machine that others may use too. */
  readonly slowestMs: number
}

export interface ExploreOptions {
  readonly inputs: number
  readonly seed: number
  /** Called with each input before it runs. */
  readonly beforeInput: (input: Buffer) => void
  readonly onBroken: (input: Buffer, error: unknown) => Promise<void>
}

const corpusMax = 3_000

/**
 * Runs a target on variations of its seeds. An input that reaches new code becomes a seed. Coverage is read
 * once per round; a round that reached new code is searched for the input by halves.
 */
export async function explore(target: Target, options: ExploreOptions): Promise<Exploration> {
  const draws = new Draws(options.seed, target.name)
  const coverage = new Coverage()
  const corpus = target.seeds.map(toBytes)
  let slowestMs = 0
  /** False if it broke a promise. */
  const run = async (input: Buffer): Promise<boolean> => {
    let isSound = true
    options.beforeInput(input)
    const began = performance.now()
    try {
      const checked = target.check(input)
      if (checked !== undefined) await checked
    } catch (error) {
      isSound = false
      await options.onBroken(input, error)
    }
    slowestMs = Math.max(slowestMs, performance.now() - began)
    return isSound
  }
  /** Finds inputs of a round that reach new code. */
  const search = async (round: readonly Buffer[]): Promise<void> => {
    coverage.read()
    let isSound = true
    for (const input of round) isSound = (await run(input)) && isSound
    const reading = coverage.read()
    if (!coverage.hasNew(reading)) return
    if (round.length === 1) {
      coverage.add(reading)
      // Its variations would break in the same way.
      if (!isSound) return
      if (corpus.length < corpusMax) corpus.push(round[0]!)
      else corpus[target.seeds.length + draws.below(corpusMax - target.seeds.length)] = round[0]!
      return
    }
    const middle = round.length >> 1
    await search(round.slice(0, middle))
    await search(round.slice(middle))
    // Code that no input reaches again alone, as what runs once: later rounds are not searched for it.
    coverage.add(reading)
  }
  await search(corpus.slice())
  let inputs = target.seeds.length
  for (let size = 64; inputs < options.inputs; size = Math.min(4_096, size * 2)) {
    const round = Array.from({ length: Math.min(size, options.inputs - inputs) }, () =>
      vary(draws.pick(corpus), draws.pick(corpus), target, draws),
    )
    inputs += round.length
    await search(round)
  }
  coverage.close()
  return { inputs, corpus: corpus.length, reached: coverage.reached, slowestMs: Math.round(slowestMs) }
}

function toBytes(seed: Buffer | string | object): Buffer {
  if (Buffer.isBuffer(seed)) return seed
  return Buffer.from(typeof seed === 'string' ? seed : JSON.stringify(seed))
}
