import { aheadText } from '../../../replay/campaign/ahead-of-live.ts'
import type { Campaign, CampaignPlan } from '../../../replay/campaign/campaign.ts'
import type { CampaignProgress } from '../../../replay/campaign/campaign-progress.ts'
import type { CampaignPreview } from '../../../replay/campaign/preview-campaign.ts'
import type { CampaignFinding } from '../../../replay/campaign/steer-campaign.ts'
import { unknownText } from '../../../replay/campaign/unknown-to-live.ts'
import type { TableComparison } from '../../../replay/rebuild/compare-tables.ts'
import { generatedText } from '../../../replay/rebuild/generated-columns.ts'
import { safe } from '../../output.ts'
import { table } from '../../table.ts'

type History = readonly {
  readonly at: Date
  readonly actor: string
  readonly did: string
  readonly detail: string
}[]

export function campaignsTable(campaigns: readonly Campaign[]): string {
  if (campaigns.length === 0) return 'No campaigns match.'
  return table(
    ['id', 'consumer', 'mode', 'state', 'effects', 'asked by', 'approved by', 'reason'],
    campaigns.map(c => [
      c.id,
      c.consumer,
      c.mode,
      c.state,
      c.effects,
      c.requestedBy,
      c.approvedBy ?? (c.needsApproval ? 'not yet' : 'not needed'),
      c.reason.slice(0, 60),
    ]),
  )
}

export function campaignText(
  campaign: Campaign,
  progress?: CampaignProgress,
  findings: readonly CampaignFinding[] = [],
  history: History = [],
): string {
  const { plan, selection, ...facts } = campaign
  const parts = [
    table(
      ['fact', 'value'],
      [
        ...Object.entries(facts).map(([name, value]) => [name, shown(value)]),
        ['selection', JSON.stringify(selection)],
      ],
    ),
  ]
  if (plan !== null) parts.push(`${rangesTable(plan.ranges)}\n${archiveText(plan)}`.trimEnd())
  if (progress !== undefined) parts.push(progressLine(progress, false).trimEnd())
  if (findings.length > 0)
    parts.push(
      table(
        ['message', 'outcome', 'code', 'key', 'position', 'reason'],
        findings.map(f => [f.messageId, f.outcome, f.code, f.key, f.position, f.reason.slice(0, 80)]),
      ),
    )
  if (history.length > 0)
    parts.push(
      table(
        ['at', 'actor', 'did', 'detail'],
        history.map(h => [shown(h.at), h.actor, h.did, h.detail]),
      ),
    )
  return parts.join('\n\n')
}

export function previewText(preview: CampaignPreview): string {
  const { campaign, plan, extent, targets, aheadOfLive, unknownToLive, givenUp } = preview
  const effects =
    campaign.effects === 'suppressed'
      ? 'External effects and messages are suppressed and recorded as suppressed.'
      : `External effects and messages WILL be requested: ${[...targets.external, ...targets.publish].join(', ') || 'none declared'}.`
  const next = campaign.needsApproval
    ? `It needs approval:\n  onceward replay approve ${campaign.id} --consumer ${campaign.consumer} --plan ${campaign.planDigest} --because …`
    : 'It needs no approval.'
  const ahead = aheadOfLive.length === 0 ? '' : `WARNING: ${aheadText(aheadOfLive)}\n`
  const unknown = unknownToLive === 0 ? '' : `WARNING: ${unknownText(unknownToLive)}\n`
  const oldest =
    plan.oldestMs === null ? 'of unknown age' : `from ${new Date(plan.oldestMs).toISOString()} on`
  return `${rangesTable(plan.ranges)}\n${archiveText(plan)}\nUp to ${extent} ${plan.unit}, ${oldest}, in mode ${campaign.mode}.\n${effects}\n${givenUpText(givenUp, campaign)}${ahead}${unknown}${next}`
}

function givenUpText({ messages, included }: CampaignPreview['givenUp'], { consumer }: Campaign): string {
  if (messages === 0) return ''
  const [subject, were, they, stay] =
    messages === 1
      ? ['1 message', 'was', 'it', 'stays skipped']
      : [`${messages} messages`, 'were', 'they', 'stay skipped']
  const see = `see "onceward parked closed --consumer ${consumer}"`
  return included
    ? `WARNING: ${subject} of ${consumer} ${were} skipped or deleted; where the selection covers ${messages === 1 ? 'it' : 'them'}, ${they} WILL be applied (${see}).\n`
    : `${subject} of ${consumer} ${were} skipped or deleted; ${they} ${stay} (${see}).\n`
}

/** Lists everything in an archive that is not read. */
function archiveText({ archive }: CampaignPlan): string {
  if (archive === undefined) return ''
  const { files, leftOut } = archive
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const left = table(
    ['left out', 'count'],
    leftOut.map(({ what, count }) => [what, String(count)]),
  )
  return `\n${files.length} files of ${bytes} bytes, ${files[0]!.name} to ${files.at(-1)!.name}.\n${leftOut.length === 0 ? '' : `\n${left}\n`}`
}

export function comparisonText(tables: readonly TableComparison[]): string {
  const counts = table(
    ['table', 'only live', 'only rebuilt', 'different', 'ahead'],
    tables.map(one => [
      one.table,
      String(one.onlyInLive),
      String(one.onlyInShadow),
      String(one.different),
      String(one.ahead),
    ]),
  )
  const first = tables.flatMap(one =>
    one.examples.map(({ how, key }) => [one.table, how, JSON.stringify(key)]),
  )
  const examples = first.length === 0 ? '' : `\n\n${table(['table', 'how', 'key'], first)}`
  return `${counts}${examples}${generatedLines(tables)}`
}

function generatedLines(tables: readonly TableComparison[]): string {
  const lines = tables.flatMap(one => one.generated.map(each => `${one.table}: ${generatedText(each)}`))
  return lines.length === 0
    ? ''
    : safe(
        `\n\nA swap is refused, because it would change values that the database generated:\n${lines.join('\n')}`,
      )
}

/** Progress on one line. */
export function progressLine(progress: CampaignProgress, json: boolean): string {
  const { campaign, done, extent, outcomes, messages, secondsRun, secondsLeft, suppressedEffects } = progress
  if (json)
    return `${JSON.stringify({ progress: campaign.id, state: campaign.state, done, extent, messages, outcomes, suppressedEffects, secondsRun, secondsLeft })}\n`
  const percent = extent === 0 ? 100 : Math.floor((done * 100) / extent)
  const left = secondsLeft === null ? '' : `, about ${Math.ceil(secondsLeft)} s left`
  const counts = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  return safe(`${percent} %: ${messages} messages (${counts.join(', ') || 'none yet'})${left}\n`)
}

function rangesTable(ranges: readonly { partition: string; from: string; to: string }[]): string {
  return table(
    ['partition', 'from', 'to'],
    ranges.map(({ partition, from, to }) => [partition, from, to]),
  )
}

function shown(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '')
}
