import type { Consumer } from '../../contract/define-consumer.ts'
import { OncewardError } from '../../errors.ts'
import { nearestName } from '../../ports/nearest-name.ts'
import { alertsOf, type Declared } from './alert-rules.ts'
import { alerts } from './alerts.ts'
import { series } from './promql.ts'
import { runbooks } from './runbooks.ts'
import type { Runbook, RunbookPlace, RunbookStep } from './step.ts'
import { plainText, shellWord } from './template-text.ts'

/** The runbook of an alert or of that name; without a name, all that apply to this consumer. */
export function runbooksFor(consumer: Consumer, wanted?: string): readonly Runbook[] {
  if (wanted === undefined) {
    const led = new Set(alertsOf(consumer).map(({ runbook }) => runbook))
    return runbooks.filter(({ name, noAlert }) => noAlert !== undefined || led.has(name))
  }
  const name = alerts.find(alert => alert.name === wanted)?.runbook ?? wanted
  const found = runbooks.filter(runbook => runbook.name === name)
  if (found.length > 0) return found
  const known = [...alerts.map(alert => alert.name), ...runbooks.map(runbook => runbook.name)]
  const near = nearestName(wanted, known)
  throw new OncewardError(
    'usage',
    `There is no alert or runbook "${plainText(wanted).slice(0, 100)}"${near === null ? '.' : `; did you mean "${near}"?`} Known runbooks: ${runbooks.map(runbook => runbook.name).join(', ')}.`,
  )
}

/** Markdown: what the alert means, the steps in order, and when it is resolved. */
export function renderRunbook(runbook: Runbook, declared: Declared): string {
  const place = placeOf(declared)
  const { consumer } = declared
  const leads = alerts.filter(alert => alert.runbook === runbook.name).map(alert => alert.name)
  const people = [
    `consumer \`${plainText(consumer.name)}\``,
    `owner ${markdownText(consumer.owner)}`,
    ...(consumer.producer === undefined ? [] : [`producer ${markdownText(consumer.producer)}`]),
  ]
  const steps = runbook.steps
    .filter(step => step.applies?.(consumer) ?? true)
    .map((step, index) => renderStep(step, index + 1, place))
  return [
    `## ${runbook.name}`,
    `${runbook.title} For ${people.join(', ')}.`,
    leads.length > 0
      ? `Alert: ${leads.map(name => `\`${name}\``).join(', ')}.`
      : `No alert leads here: ${runbook.noAlert}`,
    runbook.means,
    steps.join('\n'),
    `**Resolved when** ${runbook.over}\n`,
  ].join('\n\n')
}

/** Every command and query of a runbook, as printed. */
export function linesOf(runbook: Runbook, declared: Declared): { commands: string[]; queries: string[] } {
  const place = placeOf(declared)
  return {
    commands: runbook.steps.flatMap(step => step.commands?.(place) ?? []),
    queries: runbook.steps.flatMap(step => step.queries?.(place) ?? []),
  }
}

function placeOf({ consumer, file }: Declared): RunbookPlace {
  const scope = { consumer: consumer.name, where: [] }
  return {
    consumer,
    name: shellWord(consumer.name),
    file: shellWord(file),
    series: (key, matchers, part) => series(scope, key, matchers, part),
  }
}

function renderStep(step: RunbookStep, number: number, place: RunbookPlace): string {
  const indent = ' '.repeat(`${number}. `.length)
  const block = (kind: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', ...[`\`\`\`${kind}`, ...lines, '```'].map(line => indent + line)]
  return [
    `${number}. ${step.text}`,
    ...block('sh', step.commands?.(place) ?? []),
    ...block('text', step.queries?.(place) ?? []),
  ].join('\n')
}

/** Team names are text: Markdown in them is escaped. */
function markdownText(text: string): string {
  return plainText(text).replaceAll(/[\\`*_[\]<>|#&]/g, '\\$&')
}
