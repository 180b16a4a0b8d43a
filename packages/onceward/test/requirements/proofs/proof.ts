import type { Proof } from '../requirement.ts'

/** A test below `packages/onceward/test`, or of an example. `<name>` stands for an interpolated value. */
export const proof = (file: string, title: string): Proof => [file, title]

/** A case of the conformance suites, which run on every source and store. */
export const suite = (file: string, name: string): Proof => [`src/testing/conformance/${file}`, name]
