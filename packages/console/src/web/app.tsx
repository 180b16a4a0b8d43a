import { Fragment } from 'preact'
import { signedOut, trouble } from './api.ts'
import { overview } from './overview-state.ts'
import { ApprovalsPage } from './pages/approvals.tsx'
import { AuditPage } from './pages/audit.tsx'
import { ConsumerPage } from './pages/consumer.tsx'
import { DecisionsPage } from './pages/decisions.tsx'
import { LedgerPage } from './pages/ledger.tsx'
import { MessagePage } from './pages/message.tsx'
import { MessagesPage } from './pages/messages.tsx'
import { OutboxPage } from './pages/outbox.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { RedrivePage, RedrivesPage } from './pages/redrives.tsx'
import { Empty } from './parts/text.tsx'
import { place } from './router.ts'
import { session, signInKind, signInProblem, signOut } from './session.ts'

const sections = [
  ['', 'Overview'],
  ['messages', 'Messages'],
  ['redrives', 'Redrives'],
  ['approvals', 'Approvals'],
  ['ledger', 'External effects'],
  ['outbox', 'Outbox'],
  ['decisions', 'Decisions'],
  ['audit', 'Audit'],
] as const

export function App() {
  if (session.value === null) return signedOut.value ? <SignIn /> : <Empty>Loading…</Empty>
  return (
    <div class="shell">
      <aside class="side">
        <a class="brand" href="./">
          <Mark /> Onceward
        </a>
        <Nav />
        <Person />
      </aside>
      <div>
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
      </div>
    </div>
  )
}

function Nav() {
  const at = place.value.path.split('/')[0] ?? ''
  const waiting = overview.value?.approvals ?? 0
  const current = at === 'consumers' ? '' : at
  return (
    <nav class="nav" aria-label="Sections">
      {sections.map(([path, title]) => (
        <a href={path === '' ? './' : path} aria-current={current === path ? 'page' : undefined}>
          {title}
          {path === 'approvals' && waiting > 0 && <span class="count">{waiting}</span>}
        </a>
      ))}
    </nav>
  )
}

function Person() {
  const { person, roles, signOut: canSignOut } = session.value!
  return (
    <div class="who">
      <div>
        <b>{person}</b>
      </div>
      <div class="muted">{roles.includes('admin') ? 'admin' : roles.join(', ')}</div>
      {canSignOut && (
        <button type="button" class="button plain small" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </div>
  )
}

function Page() {
  const [section = '', id] = place.value.path.split('/').map(decodeURIComponent)
  switch (section) {
    case '':
      return <OverviewPage />
    case 'messages':
      return id === undefined || id === '' ? <MessagesPage /> : <MessagePage key={id} id={id} />
    case 'consumers':
      return <ConsumerPage key={id} name={id ?? ''} />
    case 'redrives':
      return id === undefined || id === '' ? <RedrivesPage /> : <RedrivePage key={id} request={id} />
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
      return <Empty>There is no such page.</Empty>
  }
}

function SignIn() {
  const kind = signInKind.value
  return (
    <main class="sign-in">
      <div class="card">
        <div class="brand">
          <Mark /> Onceward
        </div>
        <h1>Sign in</h1>
        {signInProblem.value !== null && (
          <p class="notice crit" role="alert">
            {signInProblem.value}
          </p>
        )}
        {kind === 'openid' && (
          <a class="button primary" href="auth/start" target="_self">
            Continue with your organisation
          </a>
        )}
        {kind === 'link' && (
          <p>
            Open the link that <code>onceward console</code> printed on the terminal. It works once; start the
            console again for another.
          </p>
        )}
        {kind === 'proxy' && <p>Open this address through the proxy of your organisation.</p>}
        {kind === null && <Fragment>The console does not answer.</Fragment>}
      </div>
    </main>
  )
}

function Mark() {
  return (
    <svg viewBox="0 0 24 24" fill="none" aria-hidden="true">
      <rect x="1" y="1" width="22" height="22" rx="7" fill="var(--accent)" />
      <path
        d="M7 12.5l3.4 3.4L17.5 8.6"
        stroke="var(--accent-text)"
        stroke-width="2.4"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}
