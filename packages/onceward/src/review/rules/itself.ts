import type { RuleText } from '../rule.ts'

/**
 * What a check says about contracts it could not judge, servers it could not ask, and its waivers. Nothing to
 * judge: found on the way.
 */
export const refusedContract: RuleText = {
  id: 'OW100',
  severity: 'error',
  title: 'The contract can be used',
  reason: 'A contract with a problem is refused at start, so its consumer does not run.',
  fix: 'Correct the place that is named.',
}

export const silentServer: RuleText = {
  id: 'OW901',
  severity: 'error',
  title: 'The server answers',
  reason:
    'Nothing could be compared with a server that does not answer, and a consumer that starts now waits for it too.',
  fix: 'Check the address, the network and the login, then check again.',
}

export const unaskedServer: RuleText = {
  id: 'OW902',
  severity: 'warning',
  title: 'The server can be asked for everything',
  reason: 'What nobody may look at is not checked; its rules were left out rather than passed.',
  fix: 'Give the address that is missing, or give this login the right to look.',
}

export const waiverRules = {
  over: {
    id: 'OW911',
    severity: 'error',
    title: 'A waiver is in force',
    reason: 'A waiver that is over waives nothing: its finding counts again.',
    fix: 'Mend what it was for, or have its owner decide again and set a new end.',
  },
  unused: {
    id: 'OW912',
    severity: 'warning',
    title: 'A waiver meets a finding',
    reason: 'What it was for is mended. Left in place, it would hide the same fault when it comes back.',
    fix: 'Remove it from the policy file.',
  },
  unknown: {
    id: 'OW913',
    severity: 'error',
    title: 'A waiver names a rule that can be waived',
    reason: 'A waiver with a slip of the pen waives nothing, and its author believes it does.',
    fix: 'Correct the id; docs/checks.md lists all of them. A contract that is refused and a server that does not answer cannot be waived.',
  },
} as const satisfies Record<string, RuleText>

/**
 * A contract that will not start, a server that nobody could ask, and waivers themselves: not to be lived
 * with.
 */
export const neverWaived: ReadonlySet<string> = new Set(
  [refusedContract, silentServer, ...Object.values(waiverRules)].map(rule => rule.id),
)

export const rulesOfTheCheck: readonly RuleText[] = [
  refusedContract,
  silentServer,
  unaskedServer,
  waiverRules.over,
  waiverRules.unused,
  waiverRules.unknown,
]
