import type { Json } from '../api.ts'
import { Empty } from './layout.tsx'
import { Who } from './text.tsx'
import { Time } from './time.tsx'

/** What happened to a message, oldest first: deliveries, attempts, decisions, acts of people. */
export function Timeline({ of }: { readonly of: Json }) {
  const entries: readonly Json[] = of.story?.timeline ?? of.message.timeline
  if (entries.length === 0) return <Empty>Nothing is recorded.</Empty>
  return (
    <div class="stack">
      {of.story !== null && <p class="muted">{of.story.summary}</p>}
      <ol class="timeline">
        {entries.map(entry => (
          <li class={toneOf(entry)}>
            <div class="what">
              <b>{entry.what}</b>
              <span class="small">
                <Time at={entry.at} both />
              </span>
            </div>
            <div class="small">
              <bdi>{entry.text}</bdi>
            </div>
            {entry.by !== null && (
              <div class="small muted">
                by <Who actor={entry.by} />
              </div>
            )}
          </li>
        ))}
      </ol>
      <Answers of={of.story} />
      {of.limits.length > 0 && (
        <details class="small muted">
          <summary>What was not searched</summary>
          {of.limits.map((limit: string) => (
            <p>{limit}</p>
          ))}
        </details>
      )}
    </div>
  )
}

/** The questions of an auditor, with the origin of each answer. */
function Answers({ of }: { readonly of: Json }) {
  if (of === null || of.answers === undefined || of.answers.length === 0) return null
  return (
    <details class="small">
      <summary>Questions of an auditor</summary>
      <dl class="facts answers">
        {of.answers.map((one: Json) => (
          <div>
            <dt>{one.asked}</dt>
            <dd>
              {one.answer ?? <span class="muted">not recorded</span>}
              <div class="muted">{one.from}</div>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function toneOf({ what }: Json): string {
  if (/attempt|parked|dead|quarantin|refused|failed/.test(what)) return 'bad'
  return /fix|classified|redrive|released|skip|approv/.test(what) ? 'person' : ''
}
