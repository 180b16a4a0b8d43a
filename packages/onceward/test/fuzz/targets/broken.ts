import type { Target } from '../target.ts'

/** Readers that are broken on purpose: what the fuzzer must find in them. */
const deepBranch: Target = {
  name: 'test: deep branch',
  kind: 'bytes',
  seeds: ['fixx'],
  check(input) {
    if (input[0] === 0x66) if (input[1] === 0x69) if (input[2] === 0x6e) reach(input[3])
  },
}

function reach(byte: number | undefined): void {
  if (byte === 0x64) throw new Error('found')
}

const hang: Target = {
  name: 'test: hang',
  kind: 'text',
  seeds: ['abcd'],
  check(input) {
    while (input.length > 4);
  },
}

const memory: Target = {
  name: 'test: memory',
  kind: 'text',
  seeds: ['abcd'],
  check() {
    const kept: object[] = []
    for (;;) kept.push({ kept: [kept.length] })
  },
}

export const brokenTargets = [deepBranch, hang, memory]
