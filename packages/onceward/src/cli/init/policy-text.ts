import type { Risk } from '../../contract/contract.ts'
import { durationText } from '../../contract/duration.ts'
import { resolveRetention } from '../../contract/retention.ts'
import type { InitSource, ProjectAnswers } from './project.ts'

/** Longer than the topic and the stream of `setup.ts` keep messages, and than the window of replays. */
const markersMinMs = 90 * 86_400_000

/** Declared where the source cannot report it, or only with a plugin. */
const sourceKeeps: Partial<Record<InitSource, string>> = { rabbitmq: '14d', 'rabbitmq-stream': '60d' }

/**
 * The answers, and defaults for the rest. Answers are quoted as JSON, which is valid YAML.
 */
export function policyText({ name, owner, risk, source }: ProjectAnswers): string {
  const deadLetter = source === 'rabbitmq' || source === 'kafka' ? `      deadLetter: ${name}.dead\n` : ''
  const keeps = sourceKeeps[source]
  const markersMs = Math.max(resolveRetention({}, risk as Risk).markers, markersMinMs)
  return `# yaml-language-server: $schema=./node_modules/onceward/policy.schema.json
consumers:
  ${name}:
    owner: ${JSON.stringify(owner)}
    risk: ${risk}
    description: books each request once
    handlerVersion: "1"
    failure:
      mode: defer
      retry: { maxAttempts: 5, initialDelay: 1s, maxDelay: 1m }
${deadLetter}    replay:
      modes: [replay, repair, forensic]
      window: 30d
    retention:
      markers: ${durationText(markersMs)}
${keeps === undefined ? '' : `      sourceKeeps: ${keeps}\n`}    objectives:
      lagMax: 1m
`
}
