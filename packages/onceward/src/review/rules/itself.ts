import type { RuleText } from '../rule.ts'

/**
 * Findings about contracts that could not be checked, servers that could not be read, and waivers. They have
 * no judge function.
 */
export const refusedContract: RuleText = {
  id: 'OW100',
  severity: 'error',
  title: 'The contract can be used',
  reason: 'A contract with a problem is refused at start, so its consumer does not run.',
  fix: 'Correct the setting that is named.',
}

export const silentServer: RuleText = {
  id: 'OW901',
  severity: 'error',
  title: 'The server answers',
  reason: 'The check compared nothing with this server, and a consumer that starts now waits for it too.',
  fix: 'Check the address, the network and the login, then check again.',
}

export const unaskedServer: RuleText = {
  id: 'OW902',
  severity: 'warning',
  title: 'The login can read everything that the check needs',
  reason: 'The check skipped the rules for facts that it could not read; it did not pass them.',
  fix: 'Set the missing address, or grant this login the right to read.',
}

export const waiverRules = {
  over: {
    id: 'OW911',
    severity: 'error',
    title: 'A waiver is in force',
    reason: 'An expired waiver waives nothing: its finding counts again.',
    fix: 'Fix the finding, or have the owner set a new end.',
  },
  unused: {
    id: 'OW912',
    severity: 'warning',
    title: 'A waiver matches a finding',
    reason:
      'Its finding no longer exists. Left in place, the waiver would hide the same fault when it returns.',
    fix: 'Remove it from the policy file.',
  },
  unknown: {
    id: 'OW913',
    severity: 'error',
    title: 'A waiver names a rule that can be waived',
    reason: 'A waiver with a misspelt rule waives nothing, and its author believes that it does.',
    fix: 'Correct the id; docs/checks.md lists all of them. A refused contract and a server that does not answer cannot be waived.',
  },
} as const satisfies Record<string, RuleText>

/**
 * Findings that cannot be waived: a contract that does not start, a server that does not answer, and waivers
 * themselves.
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
