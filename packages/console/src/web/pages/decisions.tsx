import { useSignal } from '@preact/signals'
import type { Json } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { BrokerDialog } from '../parts/broker-dialog.tsx'
import { type Asked, BrokersCard, LossesCard, RestoreCard } from '../parts/decision-cards.tsx'
import { report } from '../parts/done.tsx'
import { Head } from '../parts/layout.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { NamesCard } from '../parts/names-card.tsx'

/** Losses, failovers, brokers and names: what operations asks people to decide. */
export function DecisionsPage() {
  const load = useLoad('decisions', 'live')
  const asked = useSignal<Asked | null>(null)
  const adding = useSignal(false)
  const ask = (one: Asked) => {
    asked.value = one
  }
  return (
    <div class="stack">
      <Head
        title="Decisions"
        about="Lost records, failovers and restores, broker clusters, names of consumers"
      />
      <Loaded of={load}>
        {(of: Json) => (
          <>
            <LossesCard rows={of.losses} ask={ask} />
            {of.restore !== null && <RestoreCard of={of.restore} ask={ask} />}
            <BrokersCard rows={of.brokers} add={() => (adding.value = true)} />
            <NamesCard rows={of.readers} done={load.reload} />
          </>
        )}
      </Loaded>
      {asked.value !== null && (
        <AskReason
          title={asked.value.title}
          verb="Accept"
          danger
          command={asked.value.command}
          close={() => (asked.value = null)}
          act={async because => {
            await asked.value!.send(because)
            report('Accepted. The consumers continue at their next start.')
            load.reload()
          }}
        >
          <p>{asked.value.about}</p>
        </AskReason>
      )}
      {adding.value && <BrokerDialog close={() => (adding.value = false)} done={load.reload} />}
    </div>
  )
}
