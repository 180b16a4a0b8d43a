import { useSignal } from '@preact/signals'
import { signedOut, trouble } from './api.ts'
import { ApprovalsPage } from './pages/approvals.tsx'
import { AuditPage } from './pages/audit.tsx'
import { CampaignPage } from './pages/campaign.tsx'
import { CampaignsPage } from './pages/campaigns.tsx'
import { ConsumerPage } from './pages/consumer.tsx'
import { DecisionsPage } from './pages/decisions.tsx'
import { LedgerPage } from './pages/ledger.tsx'
import { MessagePage } from './pages/message.tsx'
import { MessagesPage } from './pages/messages.tsx'
import { OutboxPage } from './pages/outbox.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { RedrivePage } from './pages/redrive.tsx'
import { RedrivesPage } from './pages/redrives.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Done } from './parts/done.tsx'
import { Empty, Head } from './parts/layout.tsx'
import { Mark } from './parts/mark.tsx'
import { Nav } from './parts/nav.tsx'
import { place } from './router.ts'
import { session, signOut } from './session.ts'
import { theme, turnTheme } from './theme.ts'

export function App() {
  if (session.value === null)
    return signedOut.value ? (
      <SignIn />
    ) : (
      <main>
        <Empty>Loading…</Empty>
      </main>
    )
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={focusTitle}>
        Skip to the content
      </button>
      <Side />
      <div class="content">
        {signedOut.value && (
          <p class="notice crit banner" role="alert">
            Your session has ended. Reload the page to sign in again.
          </p>
        )}
        {trouble.value !== null && (
          <p class="notice crit banner" role="alert">
            {trouble.value}
          </p>
        )}
        <main class="main">
          <Page />
        </main>
        <Done />
      </div>
    </div>
  )
}

function focusTitle(): void {
  document.querySelector<HTMLElement>('h1')?.focus()
}

function Side() {
  const isOpen = useSignal(false)
  // A link of the menu closes it.
  const close = () => (isOpen.value = false)
  return (
    <aside class={isOpen.value ? 'side open' : 'side'}>
      <div class="row top">
        <a class="brand" href="./" onClick={close}>
          <Mark /> Onceward
        </a>
        <button
          type="button"
          class="button small menu"
          aria-expanded={isOpen.value}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          Menu
        </button>
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the links inside are what is pressed */}
      <div class="panel" onClick={close} onKeyDown={event => event.key === 'Escape' && close()}>
        <Nav />
        <Person />
      </div>
    </aside>
  )
}

function Person() {
  const { person, roles, payload, signOut: canSignOut } = session.value!
  return (
    <div class="who">
      <b class="cut">
        <bdi>{person}</bdi>
      </b>
      <div class="muted">{roles.includes('admin') ? 'admin' : roles.join(', ')}</div>
      {payload !== 'full' && <div class="muted">payloads {payload === 'none' ? 'hidden' : 'masked'}</div>}
      <div class="row">
        <button type="button" class="button plain small" onClick={turnTheme}>
          Theme: {theme.value}
        </button>
        {canSignOut && (
          <button type="button" class="button plain small" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
      </div>
    </div>
  )
}

function Page() {
  const [section = '', id = ''] = place.value.path.split('/').map(decodeURIComponent)
  switch (section) {
    case '':
      return <OverviewPage />
    case 'messages':
      return id === '' ? <MessagesPage /> : <MessagePage key={id} id={id} />
    case 'consumers':
      return <ConsumerPage key={id} name={id} />
    case 'redrives':
      return id === '' ? <RedrivesPage /> : <RedrivePage key={id} request={id} />
    case 'campaigns':
      return id === '' ? <CampaignsPage /> : <CampaignPage key={id} id={id} />
    case 'approvals':
      return <ApprovalsPage />
    case 'ledger':
      return <LedgerPage />
    case 'outbox':
      return <OutboxPage />
    case 'decisions':
      return <DecisionsPage />
    case 'audit':
      return <AuditPage />
    default:
      return <Head title="There is no such page" about={<a href="./">Go to the overview</a>} />
  }
}
