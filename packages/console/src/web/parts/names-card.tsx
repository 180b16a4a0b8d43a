import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { may } from '../session.ts'
import { AskReason } from './ask-reason.tsx'
import { report } from './done.tsx'
import { SelectField, TextField, useChoice } from './fields.tsx'
import { Card, Empty, Table } from './layout.tsx'
import { shell } from './shell.ts'
import { Id } from './text.tsx'
import { Time } from './time.tsx'

export function NamesCard({ rows, done }: { readonly rows: readonly Json[]; readonly done: () => void }) {
  const renaming = useSignal<string | null>(null)
  const separating = useSignal(false)
  return (
    <Card
      title="Names and their sources"
      side={
        may('admin') && (
          <button class="button small" type="button" onClick={() => (separating.value = true)}>
            Allow a second reader…
          </button>
        )
      }
      bare
    >
      {rows.length === 0 ? (
        <Empty>No process has read a source yet.</Empty>
      ) : (
        <Table head={['Consumer', 'Source', '-Group', 'Last seen', '']}>
          {rows.map(row => (
            <tr key={`${row.consumer} ${row.kind} ${row.place} ${row.reader}`}>
              <td>
                <a href={`consumers/${encodeURIComponent(row.consumer)}`}>{row.consumer}</a>
              </td>
              <td>
                <span class="small muted">{row.kind}</span>
                <Id text={row.place} />
              </td>
              <td class="wide-only">
                <Id text={row.reader} />
              </td>
              <td>
                <Time at={row.lastAt} both />
              </td>
              <td class="num">
                {may('admin') && (
                  <button
                    class="button small"
                    type="button"
                    aria-label={`Rename ${row.consumer}`}
                    onClick={() => (renaming.value = row.consumer)}
                  >
                    Rename…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {renaming.value !== null && (
        <RenameDialog from={renaming.value} close={() => (renaming.value = null)} done={done} />
      )}
      {separating.value && (
        <SeparateDialog
          names={[...new Set(rows.map(({ consumer }) => consumer as string))]}
          close={() => (separating.value = false)}
          done={done}
        />
      )}
    </Card>
  )
}

function RenameDialog(props: {
  readonly from: string
  readonly close: () => void
  readonly done: () => void
}) {
  const { from, close, done } = props
  const to = useSignal('')
  return (
    <AskReason
      title={`Rename ${from}`}
      verb="Rename"
      ready={to.value.trim() !== ''}
      command={`onceward consumers rename ${shell(from)} ${shell(to.value || 'new_name')} --because '…'`}
      close={close}
      act={async because => {
        await post('decisions/names/rename', { from, to: to.value.trim(), because })
        report(`${from} is now ${to.value.trim()}.`)
        done()
      }}
    >
      <p class="muted">
        Markers, positions and the ledger move to the new name. Stop its processes first; the database refuses
        while one runs.
      </p>
      <TextField name="New name" value={to.value} required set={text => (to.value = text)} />
    </AskReason>
  )
}

function SeparateDialog(props: {
  readonly names: readonly string[]
  readonly close: () => void
  readonly done: () => void
}) {
  const { names, close, done } = props
  const from = useChoice(names)
  const name = useSignal('')
  return (
    <AskReason
      title="Allow a second reader of a source"
      verb="Allow"
      ready={from.value !== '' && name.value.trim() !== ''}
      command={`onceward consumers separate ${shell(name.value || 'new_name')} --from ${shell(from.value)} --because '…'`}
      close={close}
      act={async because => {
        await post('decisions/names/separate', { name: name.value.trim(), from: from.value, because })
        report(`${name.value.trim()} may read the source of ${from.value}.`)
        done()
      }}
    >
      <p class="muted">
        Both consumers apply every message. If the new one replaces the old one, rename it instead: a new name
        has no markers, and would apply everything again.
      </p>
      <div class="fields">
        <TextField name="New consumer" value={name.value} required set={text => (name.value = text)} />
        <SelectField name="Reads the source of" {...from} />
      </div>
    </AskReason>
  )
}
