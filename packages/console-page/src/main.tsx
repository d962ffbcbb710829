import { render } from 'preact';
import { browserClock } from './link/browser-clock.ts';
import { App } from './view/app.tsx';
import { watchAppearance } from './view/appearance.ts';
import { Store } from './view/store.ts';
import { StoreContext } from './view/use-store.ts';

const leaving = new AbortController();
const store = new Store(browserClock);
const root = document.getElementById('app');
if (root) {
  render(
    <StoreContext.Provider value={store}>
      <App />
    </StoreContext.Provider>,
    root,
  );
}
watchAppearance(leaving.signal);
store.run(leaving.signal);
