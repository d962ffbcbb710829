import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AUTHORITY_LIFE_MS, LEAF_LIFE_MS } from './certificate-authority.ts';
import { DAY, EMPTY, HOUR, NAMES, PROPAGATION_MS, World } from './rotation.test-fixtures.ts';

describe('nextStep', () => {
  it('starts with an authority, a certificate and a bundle, and then waits', () => {
    const world = new World();
    const dueMs = world.settle();
    expect(world.log).toEqual(['start-anew', 'publish']);
    expect(world.isRefused()).toBe(false);
    expect(dueMs).toBe(world.nowMs + PROPAGATION_MS);
    world.nowMs = dueMs;
    expect(world.settle()).toBeCloseTo(world.nowMs - PROPAGATION_MS - HOUR + ((LEAF_LIFE_MS + HOUR) * 2) / 3, -3);
  });

  it('renews the certificate at two thirds of its life, of the same authority', () => {
    const world = new World();
    world.settle();
    const { authority, leaf } = world.state();
    world.nowMs += 59 * DAY;
    world.settle();
    expect(world.state().leaf).toEqual(leaf);
    world.nowMs += 1.1 * DAY;
    world.settle();
    expect(world.log).toEqual(['start-anew', 'publish', 'sign-leaf']);
    expect(world.state().leaf?.fingerprint).not.toBe(leaf?.fingerprint);
    expect(world.state().authority).toEqual(authority);
  });

  it('renews the certificate at once when it lacks a name', () => {
    const world = new World();
    world.settle();
    world.names = [...NAMES, 'another.name'];
    world.settle();
    expect(world.log.slice(2)).toEqual(['sign-leaf']);
    expect(world.state().leaf?.names).toContain('another.name');
  });

  it('publishes a new authority, waits, signs with it, and drops the old one when its last certificate has expired', () => {
    const world = new World();
    world.settle();
    const old = world.state().authority?.fingerprint ?? '';
    world.log.length = 0;
    // The leaf is renewed along the way, as it would be.
    world.live(world.nowMs + AUTHORITY_LIFE_MS * (2 / 3) - DAY, () => {});
    world.log.length = 0;
    world.nowMs += DAY;
    world.settle();
    expect(world.log).toEqual(['introduce-authority', 'publish']);
    const next = world.state().next?.fingerprint ?? '';
    expect(world.configMap?.fingerprints.toSorted()).toEqual([old, next].toSorted());
    expect(world.served?.issuer).toBe(old);
    world.nowMs += PROPAGATION_MS - 1;
    world.settle();
    expect(world.served?.issuer).toBe(old);
    const lastLeafMs = world.served?.notAfterMs ?? 0;
    world.nowMs += 1;
    world.settle();
    expect(world.served?.issuer).toBe(next);
    world.live(lastLeafMs - 1, () => expect(world.configMap?.fingerprints).toContain(old));
    world.nowMs = lastLeafMs;
    world.settle();
    expect(world.configMap?.fingerprints).toEqual([next]);
  });

  it('never serves what a client would refuse, in forty years', () => {
    const world = new World();
    world.live(world.nowMs + 40 * 365 * DAY, () => expect(world.isRefused()).toBe(false));
    expect(world.log.filter((action) => action === 'introduce-authority').length).toBeGreaterThanOrEqual(5);
    expect(world.log.filter((action) => action === 'sign-leaf').length).toBeGreaterThan(230);
    expect(world.log.filter((action) => action === 'start-anew')).toHaveLength(1);
  });

  it('replaces a stored certificate that is damaged by another of the same authority', () => {
    const world = new World();
    world.settle();
    const { authority } = world.state();
    if (world.secret) world.secret.leaf = undefined;
    world.settle();
    expect(world.log.slice(2)).toEqual(['sign-leaf']);
    expect(world.state().leaf).toMatchObject({ issuer: authority?.fingerprint, stored: true });
  });

  it('goes on serving the old certificate while a deleted Secret is made anew', () => {
    const world = new World();
    world.live(world.nowMs + DAY, () => {});
    const old = world.served;
    world.secret = undefined;
    world.settle();
    expect(world.served).toEqual(old);
    expect(world.configMap?.fingerprints).toContain(old?.issuer);
    world.live(world.nowMs + PROPAGATION_MS * 2, () => expect(world.isRefused()).toBe(false));
    expect(world.served?.issuer).not.toBe(old?.issuer);
    expect(world.configMap?.fingerprints).toContain(old?.issuer);
  });

  it('keeps the old authority published when the Secret is gone and no replica remembers it', () => {
    const world = new World();
    world.live(world.nowMs + DAY, () => {});
    const old = world.served;
    world.secret = undefined;
    world.served = undefined;
    world.servedIssuer = undefined;
    world.settle();
    const issuer = world.state().authority?.fingerprint;
    expect(issuer).not.toBe(old?.issuer);
    expect(world.configMap?.fingerprints.toSorted()).toEqual([old?.issuer, issuer].toSorted());
  });

  it('takes a foreign certificate out of the bundle', () => {
    const world = new World();
    world.settle();
    const { fingerprint } = world.make('foreign', AUTHORITY_LIFE_MS);
    for (const fingerprints of [[world.served?.issuer ?? '', fingerprint], [fingerprint]]) {
      world.configMap = { fingerprints, sinceMs: world.nowMs, intact: true };
      world.settle();
      expect(world.configMap?.fingerprints).toEqual([world.served?.issuer]);
    }
  });

  it('signs with an authority that a user put there only when that has spread', () => {
    const world = new World();
    world.settle();
    world.secret = { ...(world.secret ?? EMPTY), authority: world.make('ca', AUTHORITY_LIFE_MS) };
    for (const afterMs of [0, PROPAGATION_MS - 1, 1]) {
      expect(world.served?.issuer).not.toBe(world.state().authority?.fingerprint);
      world.nowMs += afterMs;
      world.settle();
    }
    expect(world.served?.issuer).toBe(world.state().authority?.fingerprint);
  });

  it('publishes the authority where another certificate is in its place', () => {
    const world = new World();
    world.settle();
    const foreign = world.make('foreign', AUTHORITY_LIFE_MS);
    if (world.configMap) world.configMap.fingerprints = [foreign.fingerprint];
    world.settle();
    expect(world.configMap?.fingerprints).toEqual([world.served?.issuer]);
  });

  it('publishes an authority that a user put there, and signs with it only when that has spread', () => {
    const world = new World();
    world.settle();
    const before = world.served?.fingerprint;
    const authority = world.make('ca', AUTHORITY_LIFE_MS);
    world.secret = { ...(world.secret ?? EMPTY), authority };
    world.settle();
    expect(world.log.at(-1)).toBe('publish');
    expect(world.configMap?.fingerprints).toContain(authority.fingerprint);
    world.nowMs += PROPAGATION_MS - 1;
    world.settle();
    expect(world.served?.fingerprint).toBe(before);
    world.nowMs += 1;
    world.settle();
    expect(world.served?.issuer).toBe(authority.fingerprint);
  });

  it('waits anew when the bundle was taken away while it spread', () => {
    const world = new World();
    world.settle();
    const { nowMs } = world;
    world.secret = { ...(world.secret ?? EMPTY), authority: undefined };
    world.nowMs = nowMs + PROPAGATION_MS;
    world.settle();
    world.nowMs += PROPAGATION_MS - 1;
    world.configMap = undefined;
    world.settle();
    world.nowMs += 1;
    world.settle();
    expect(world.served?.issuer).not.toBe(world.state().next?.fingerprint);
    world.nowMs += PROPAGATION_MS;
    world.settle();
    expect(world.served?.issuer).toBe(world.state().authority?.fingerprint);
  });

  it('is not held up for years by a publication time in the far future', () => {
    const world = new World();
    world.settle();
    if (world.configMap) world.configMap.sinceMs = world.nowMs + 1000 * DAY;
    world.settle();
    expect(world.configMap?.sinceMs).toBe(world.nowMs);
  });

  it('comes to rest from any state, with something to serve', () => {
    const facts = (world: World) =>
      fc
        .record({ ageMs: fc.integer({ min: -DAY, max: 12 * 365 * DAY }), known: fc.boolean() })
        .map(({ ageMs, known }) =>
          known ? { ...world.make('ca', AUTHORITY_LIFE_MS), notBeforeMs: world.nowMs - ageMs } : undefined,
        );
    fc.assert(
      fc.property(fc.gen(), (g) => {
        const world = new World();
        const [authority, next, other] = [g(facts, world), g(facts, world), g(facts, world)];
        const issuer = g(
          fc.constantFrom<(string | undefined)[]>,
          authority?.fingerprint,
          other?.fingerprint,
          'unknown',
        );
        const leaf = { ...world.make('leaf', LEAF_LIFE_MS), names: NAMES, issuer, stored: true };
        world.secret = {
          leaf: g(fc.boolean) ? leaf : undefined,
          authority,
          next,
          previous: g(fc.boolean) && other ? [other] : [],
          previousUntilMs: g(fc.boolean) ? world.nowMs + g(fc.integer, { min: -DAY, max: DAY }) : undefined,
        };
        const fingerprints = [authority, next, other].flatMap((each) => each?.fingerprint ?? []);
        const published = g(fc.subarray<string>, fingerprints);
        world.configMap = { fingerprints: published, sinceMs: undefined, intact: g(fc.boolean) };
        world.live(world.nowMs + 4 * PROPAGATION_MS, () => {});
        expect(world.served).toBeDefined();
        expect(world.configMap.fingerprints).toContain(world.served?.issuer);
        expect(world.secret.authority?.fingerprint).toBe(world.served?.issuer);
        world.live(world.nowMs + 200 * DAY, () => expect(world.isRefused()).toBe(false));
      }),
      { endOnFailure: true },
    );
  });

  it('keeps its promise whatever happens to leaders and objects', () => {
    const happening = fc.oneof(
      fc.record({ what: fc.constant('time' as const), days: fc.double({ min: 0.001, max: 900, noNaN: true }) }),
      fc.record({ what: fc.constant('no leader' as const), days: fc.double({ min: 0.001, max: 29, noNaN: true }) }),
      fc.record({
        what: fc.constantFrom(
          'secret deleted',
          'bundle deleted',
          'bundle tampered with',
          'certificate damaged',
          'leader crashed',
          'new name',
        ),
      }),
    );
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 30 }), fc.nat({ max: 6 }), (happenings, crashAfter) => {
        const world = new World();
        world.settle();
        const check = () => expect(world.isRefused()).toBe(false);
        // In one stretch shorter than the third of a certificate's life that is left when it is renewed.
        let leaderlessDays = 0;
        for (const each of happenings) {
          if ('days' in each && each.what === 'time') {
            world.live(world.nowMs + each.days * DAY, check);
            // A leader that goes before a new authority has spread could not sign with it.
            leaderlessDays = each.days * DAY > 2 * PROPAGATION_MS ? 0 : leaderlessDays + each.days;
          } else if ('days' in each) {
            const days = Math.max(0, Math.min(each.days, 29 - leaderlessDays));
            world.nowMs += days * DAY;
            leaderlessDays += days;
          }
          if (each.what === 'secret deleted') world.secret = undefined;
          else if (each.what === 'bundle deleted') world.configMap = undefined;
          else if (each.what === 'bundle tampered with')
            world.configMap?.fingerprints.push(world.make('foreign', DAY).fingerprint);
          else if (each.what === 'certificate damaged') world.secret = { ...(world.secret ?? EMPTY), leaf: undefined };
          else if (each.what === 'new name') world.names = [...world.names, `name-${world.nowMs}`];
          else crash(world, crashAfter);
          check();
        }
        world.live(world.nowMs + 100 * DAY, check);
        expect(world.secret?.leaf).toEqual(world.served);
      }),
      { numRuns: 200 },
    );
  });
});

/** A leader that stops between two steps; the next one knows only what is stored. */
function crash(world: World, afterSteps: number): void {
  for (let count = 0; count < afterSteps; count += 1) {
    world.serve();
    const step = world.step();
    if (step.action === 'wait') return;
    world.take(step);
  }
  world.serve();
}
