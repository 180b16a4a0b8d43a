import { indentJson } from '../../../../onceward/src/operations/parking/json-layout.ts'
import type { Json } from '../api.ts'
import { Card, Empty } from './layout.tsx'
import { bytes } from './numbers.ts'
import { Copy } from './text.tsx'

export function PayloadCard({ of }: { readonly of: Json }) {
  const { payload, message, headers } = of
  return (
    <Card
      title={payload.right === 'masked' ? 'Payload, masked' : 'Payload'}
      bare
      side={<Side of={payload} id={message.id} />}
    >
      {payload.content === null ? (
        <Empty>
          {payload.right === 'none'
            ? 'Your role does not show payloads.'
            : 'This payload cannot be masked, so it is hidden.'}
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        <pre class="payload" tabIndex={0} role="region" aria-label="Payload">
          {payload.as === 'text' ? indentJson(payload.content) : payload.content}
          {!payload.whole && `\n… the first part of ${bytes(payload.bytes)}; download the whole payload`}
        </pre>
      )}
      {headers !== null && (
        <details class="in">
          <summary>Headers and properties</summary>
          <pre>{JSON.stringify({ headers, properties: of.properties }, null, 2)}</pre>
        </details>
      )}
    </Card>
  )
}

function Side({ of, id }: { readonly of: Json; readonly id: string }) {
  return (
    <div class="row small muted">
      {bytes(of.bytes)}
      {of.as === 'hex' && ' as hexadecimal'}
      {of.right === 'full' && (
        <>
          {of.whole && <Copy text={of.content} what="the payload" />}
          <a href={`api/messages/${id}/body`} download={`message-${id}.bin`}>
            Download
          </a>
        </>
      )}
    </div>
  )
}
