import { inForce } from './acceptance.ts';
import { LAG_MS } from './news.ts';
import { type NodeServiceObject, type NodeServiceSpec, observed } from './node-services.ts';
import type { World } from './world.ts';

/** What is written to NodeServices, and how coordinators hear of it. */
export class NodeServiceWrites {
  readonly #world: World;
  /** By uid, since when objects are in force. */
  #inForceSinceMs: ReadonlyMap<string, number> = new Map();
  /** Writes since the watch was lost. */
  #unheard: (() => void)[] | undefined;
  #isListing = false;
  /** When a leader listed objects that it had not known. */
  learnedMs = Number.NEGATIVE_INFINITY;

  constructor(world: World) {
    this.#world = world;
  }

  get areLost(): boolean {
    return this.#unheard !== undefined;
  }

  /** Creates a NodeService, or edits the one of this name. */
  set(name: string, spec: NodeServiceSpec): void {
    this.#write(() => {
      const { services, clock } = this.#world;
      const before = services.get(name);
      const { uid = this.#world.unique('service'), generation = 0 } = before ?? {};
      // Of objects the API server keeps seconds.
      const secondMs = Math.floor(clock.now() / 1000) * 1000;
      const createdAtMs = before?.createdAtMs ?? secondMs;
      const isEnd = before?.spec.dryRun && !spec.dryRun;
      const object: NodeServiceObject = {
        ...{ ...before, name, uid, generation: generation + 1, createdAtMs, spec },
        ...(isEnd ? { inForceSinceMs: secondMs } : {}),
      };
      services.set(name, object);
      this.#tell(object, false);
    });
  }

  delete(name: string): void {
    this.#write(() => {
      const before = this.#world.services.get(name);
      if (before && this.#world.services.delete(name)) this.#tell(before, true);
    });
  }

  /** The watch fails for a while. What people write meanwhile is heard with the next list. */
  lose(forMs: number): void {
    if (this.#unheard) return;
    this.#unheard = [];
    this.#world.heardByAll('services');
    for (const { replica, lines } of this.#world.processes)
      lines.services.send(() => replica.nodeServicesListed(undefined));
    this.#world.later(forMs, () => this.#list());
  }

  #write(write: () => void): void {
    if (this.#unheard) {
      this.#unheard.push(write);
      return;
    }
    write();
    // Each write is told by itself: for a moment, what follows is not there.
    this.#world.happened();
  }

  #tell(object: NodeServiceObject, gone: boolean): void {
    const { nowMs, configured, processes } = this.#world;
    const forMs = nowMs - (this.#inForceSinceMs.get(object.uid) ?? nowMs);
    const uids = inForce(this.#world).map(({ uid }) => uid);
    this.#inForceSinceMs = new Map(uids.map((uid) => [uid, this.#inForceSinceMs.get(uid) ?? nowMs]));
    // No label leaves for an object that was not in force, and one that was for a moment may not have been seen in force.
    if (forMs > LAG_MS) configured.set(`service ${object.name}`, nowMs);
    this.#world.heardByAll('services');
    if (this.#isListing) return;
    for (const { replica, lines } of processes) lines.services.send(() => replica.nodeService(observed(object), gone));
  }

  #list(): void {
    const writes = this.#unheard ?? [];
    this.#unheard = undefined;
    this.#isListing = true;
    for (const write of writes) {
      write();
      this.#world.happened();
    }
    this.#isListing = false;
    if (!this.#world.servicesAreKnown) this.learnedMs = this.#world.nowMs;
    this.#world.heardByAll('services');
    const services = [...this.#world.services.values()].map(observed);
    for (const process of this.#world.processes) {
      process.knowsServices = true;
      process.lines.services.send(() => process.replica.nodeServicesListed(services));
    }
  }
}
