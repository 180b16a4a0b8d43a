/** A test file and the exact title of the test in it. */
export type Proof = readonly [file: string, title: string]

export type RequirementState = 'met' | 'partly' | 'open' | 'prose'

/**
 * One thing that a source document asks for, in our words. `files` are below `packages/onceward/src`, proofs
 * below `packages/onceward/test`, unless the path begins with `src/`, `docs/`, `examples/` or `scripts/`.
 */
export interface Requirement {
  readonly state: RequirementState
  readonly asks: string
  readonly files: readonly string[]
  readonly proof: Proof | null
  /** What is missing, in a sentence; null if the requirement is met. */
  readonly lacks: string | null
}

/** Requirements by section number. */
export type RequirementsOf = Readonly<Record<string, readonly Requirement[]>>

export const met = (asks: string, files: readonly string[], proof: Proof): Requirement => ({
  state: 'met',
  asks,
  files,
  proof,
  lacks: null,
})

export const partly = (asks: string, files: readonly string[], proof: Proof, lacks: string): Requirement => ({
  state: 'partly',
  asks,
  files,
  proof,
  lacks,
})

export const open = (asks: string, lacks: string): Requirement => ({
  state: 'open',
  asks,
  files: [],
  proof: null,
  lacks,
})

/** A section that asks for nothing itself: an introduction, a definition, a summary. */
export const prose = (asks: string): Requirement => ({
  state: 'prose',
  asks,
  files: [],
  proof: null,
  lacks: null,
})
