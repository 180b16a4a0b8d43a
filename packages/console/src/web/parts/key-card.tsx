import type { Json } from '../api.ts'
import { Badge, Card, count, Time } from './text.tsx'

/** An order key as one object: whether it is blocked, and its messages in the order in which they go. */
export function KeyCard({ of, self }: { readonly of: Json; readonly self: string }) {
  const state = of.blocked === null ? 'open' : of.blocked.state
  return (
    <Card
      title="Its key"
      side={
        <Badge state={state === 'open' ? '' : state}>{of.blocked === null ? 'not blocked' : state}</Badge>
      }
    >
      <p>
        <code>
          <bdi>{of.key}</bdi>
        </code>
      </p>
      <p class="small muted">
        {of.blocked === null
          ? 'New messages of this key are processed as they arrive.'
          : state === 'parked'
            ? 'Later messages of this key wait behind the first, in this order.'
            : 'Workers process these messages in order; new ones wait until they are done.'}
        {of.blocked !== null && (
          <>
            {' '}
            Since <Time at={of.blocked.since} />.
          </>
        )}
      </p>
      <ol>
        {of.messages.map((one: Json) => (
          <li>
            {one.id === self ? (
              <b class="mono">{one.messageId ?? one.id}</b>
            ) : (
              <a class="mono" href={`messages/${one.id}`}>
                {one.messageId ?? one.id}
              </a>
            )}{' '}
            <span class="small muted">
              {one.state}, {one.code}
              {one.head ? ' · goes first' : ''}
            </span>
          </li>
        ))}
      </ol>
      {of.more && <p class="small muted">More than {count(of.messages.length)} messages.</p>}
    </Card>
  )
}
