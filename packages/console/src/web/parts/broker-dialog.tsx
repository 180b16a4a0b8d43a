import { useSignal } from '@preact/signals'
import { post } from '../api.ts'
import { AskReason } from './ask-reason.tsx'
import { report } from './done.tsx'
import { SelectField, TextField } from './fields.tsx'
import { shell } from './shell.ts'

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
        <SelectField
          name="Kind"
          value={kind.value}
          of={['kafka', 'rabbitmq']}
          set={one => (kind.value = one)}
        />
        <TextField name="Cluster" value={cluster.value} required set={text => (cluster.value = text)} />
      </div>
    </AskReason>
  )
}
