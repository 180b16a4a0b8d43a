import type { Json } from '../api.ts'
import { Diff } from './fix-dialog.tsx'
import { Card } from './layout.tsx'
import { Who } from './text.tsx'
import { Time } from './time.tsx'

/** Every fix with its difference, oldest first. */
export function FixesCard({ fixes }: { readonly fixes: readonly Json[] }) {
  if (fixes.length === 0) return null
  return (
    <Card title="Fixes">
      <div class="stack">
        {fixes.map(fix => (
          <section class="stack tight" aria-label={`Fix ${fix.id}`}>
            <div class="row small">
              <b>
                <Who actor={fix.by} />
              </b>
              <span class="muted">
                <Time at={fix.at} />
              </span>
              <bdi>{fix.because}</bdi>
            </div>
            {fix.kind === 'payload' &&
              (fix.diff === undefined ? (
                <p class="small muted">Your role does not show payloads.</p>
              ) : (
                <Diff lines={fix.diff} />
              ))}
          </section>
        ))}
      </div>
    </Card>
  )
}
