import { useSignal } from '@preact/signals'
import { post } from '../api.ts'
import { AskReason, shell } from './ask-reason.tsx'
import { report } from './done.tsx'

export function BrokerDialog({ close, done }: { readonly close: () => void; readonly done: () => void }) {
  const kind = useSignal('kafka')
  const cluster = useSignal('')
  return (
    <AskReason
      title="Add a broker cluster"
      verb="Add"
      ready={cluster.value.trim() !== ''}
      command={`onceward brokers accept ${kind.value} ${shell(cluster.value || 'cluster')} --because '…'`}
      close={close}
      act={async because => {
        await post('decisions/brokers/accept', {
          kind: kind.value,
          cluster: cluster.value.trim(),
          because,
        })
        report(`${kind.value} cluster ${cluster.value.trim()} may feed this database.`)
        done()
      }}
    >
      <p class="muted">Another cluster may feed this database. Its name is in the refusal of the process.</p>
      <div class="fields">
        <label class="field">
          <span>Kind</span>
          <select value={kind.value} onChange={event => (kind.value = event.currentTarget.value)}>
            <option value="kafka">kafka</option>
            <option value="rabbitmq">rabbitmq</option>
          </select>
        </label>
        <label class="field">
          <span>Cluster</span>
          <input
            value={cluster.value}
            required
            onInput={event => (cluster.value = event.currentTarget.value)}
          />
        </label>
      </div>
    </AskReason>
  )
}
