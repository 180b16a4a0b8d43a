import type { Consumer } from '../../contract/define-consumer.ts'
import type { SourceWindow } from '../../contract/needed-retention.ts'
import type { BrokerSecurity } from '../../drivers/broker-security.ts'
import type { Environment } from '../../environment.ts'
import type { BrokerIdentity } from '../../ports/source.ts'
import { type Finding, findingsOf, type Rule, type RuleResult, type RuleText } from '../rule.ts'

/** The addresses of the servers that contracts are compared with. Servers without an address are not read. */
export interface LiveAccess extends BrokerSecurity {
  readonly databaseUrl?: string | undefined
  readonly rabbitmqUrl?: string | undefined
  readonly rabbitmqStreamUrl?: string | undefined
  readonly managementUrl?: string | undefined
  readonly kafkaBootstrap?: string | undefined
  readonly environment?: string | undefined
  /** The schema that the producer of the only contract will send next. */
  readonly nextSchema?: Buffer | undefined
  readonly env: Environment
  /** This machine's clock. */
  readonly wallMs: () => number
  /** The longest wait for one server, independent of its client's time-outs. Default 15 s. */
  readonly timeoutMs?: number
}

/** A contract and the file it came from. */
export interface Checked {
  readonly file: string
  readonly consumer: Consumer
}

/** The answers of the servers of one kind. */
export interface CheckAnswer {
  readonly findings: Finding[]
  /** By the contract's file; absent if the source was not read. */
  readonly windows: Map<string, SourceWindow>
  readonly clusters: Map<string, BrokerIdentity>
}

/** The findings of all rules about one subject. */
export function judgeAll<Subject>(
  rules: readonly Rule<Subject>[],
  subject: Subject,
  at: Pick<Finding, 'consumer' | 'place'>,
): Finding[] {
  return rules.flatMap(rule => findingsOf(rule, rule.judge(subject), at))
}

export function aboutServer(
  rule: RuleText,
  found: RuleResult,
  place: string,
  consumer: string | null = null,
): Finding[] {
  return findingsOf(rule, found, { consumer, place })
}
