import type { Json } from '../api.ts'
import { Card } from './layout.tsx'
import { count } from './numbers.ts'
import { Badge, Id, isHidden } from './text.tsx'
import { Time } from './time.tsx'

/** An order key as one object: whether it is blocked, and its messages in the order in which they go. */
export function KeyCard({ of, self }: { readonly of: Json; readonly self: string }) {
  const state = of.blocked === null ? '' : of.blocked.state
  const search = `messages?q=${encodeURIComponent(`consumer:${of.consumer} key:${JSON.stringify(of.key)}`)}`
  return (
    <Card
      title="Its key"
      about={isHidden(of.key) ? <Id text={of.key} /> : <Id text={of.key} href={search} />}
      side={<Badge state={state}>{names[state] ?? 'not blocked'}</Badge>}
    >
      <div class="stack tight">
        <p class="small muted">
          {meanings[state] ?? 'New messages of this key are processed as they arrive.'}
          {of.blocked !== null && (
            <>
              {' '}
              Since <Time at={of.blocked.since} />.
            </>
          )}
        </p>
        <ol class="queue" aria-label="In this order">
          {of.messages.map((one: Json) => (
            <li class={one.id === self ? 'self' : ''} aria-current={one.id === self ? 'true' : undefined}>
              <span>
                {one.id === self ? (
                  <b>
                    <Id text={one.messageId ?? one.id} />
                  </b>
                ) : (
                  <Id text={one.messageId ?? one.id} href={`messages/${one.id}`} />
                )}
                <span class="small muted cut" title={one.reason}>
                  {one.code || one.reason}
                </span>
              </span>
              <Badge state={one.state}>{one.head ? `${one.state}, first` : one.state}</Badge>
            </li>
          ))}
        </ol>
        {of.more && <p class="small muted">More than {count(of.messages.length)} messages.</p>}
      </div>
    </Card>
  )
}

const names: Readonly<Record<string, string>> = { parked: 'blocked', released: 'being worked' }
const meanings: Readonly<Record<string, string>> = {
  parked: 'Later messages of this key wait behind the first, in this order.',
  released: 'Workers process these messages in order; new ones wait until they are done.',
}
