import { Mark } from '../parts/mark.tsx'
import { signInKind, signInProblem } from '../session.ts'

export function SignIn() {
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
        {kind === null && <p>The console does not answer.</p>}
      </div>
    </main>
  )
}
