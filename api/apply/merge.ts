import { equalValues } from '../meta/equal.ts';
import { isJsonObject, type Json, type JsonObject, setMember } from '../meta/merge-patch.ts';
import { type FieldType, type ListMapType, type MapType, type SetType, typeOfValue } from './field-type.ts';
import { itemStep, itemsByStep } from './steps.ts';

/**
 * The live value with what a configuration says: members and items are merged by the type, everything else is the
 * configuration's. Neither argument is changed; the result is `live` itself where that says it all already.
 */
export function mergeFields(type: FieldType | undefined, live: Json | undefined, config: Json | undefined): Json | undefined {
  if (config === undefined || Object.is(live, config)) return live;
  if (live === undefined) return config;
  const known = typeOfValue(type, config ?? live);
  if (known.kind === 'map' && isJsonObject(live)) return isJsonObject(config) ? mergeMembers(known, live, config) : live;
  if ((known.kind === 'listMap' || known.kind === 'set') && Array.isArray(live) && live.length > 0)
    return Array.isArray(config) ? mergeItems(known, live, config) : live;
  return equalValues(live, config) ? live : config;
}

function mergeMembers(type: MapType, live: JsonObject, config: JsonObject): JsonObject {
  let result: JsonObject | undefined;
  for (const name of Object.keys(config)) {
    const before = Object.hasOwn(live, name) ? live[name] : undefined;
    const merged = mergeFields(type.member(name), before, config[name]);
    if (Object.is(merged, before)) continue;
    result ??= copyOf(live);
    setMember(result, name, merged!);
  }
  return result ?? live;
}

function copyOf(object: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const name of Object.keys(object)) setMember(copy, name, object[name]!);
  return copy;
}

/**
 * The items of both. Those of the configuration stand in its order; an item that is only live keeps its place behind
 * the one that it followed, as in Kubernetes.
 */
function mergeItems(type: ListMapType | SetType, live: readonly Json[], config: readonly Json[]): Json[] {
  const merge = new ItemMerge(type, live, config);
  const merged = merge.run();
  const isSame = merged.length === live.length && merged.every((item, i) => Object.is(item, live[i]));
  return isSame ? (live as Json[]) : merged;
}

class ItemMerge {
  readonly #type: ListMapType | SetType;
  readonly #live: readonly Json[];
  readonly #liveSteps: readonly string[];
  readonly #configSteps: readonly string[];
  readonly #inLive: ReadonlyMap<string, Json>;
  readonly #inConfig: ReadonlyMap<string, Json>;
  readonly #done = new Set<string>();
  /** The items of both, in the configuration's order; the first is the one that is merged next. */
  readonly #shared: readonly string[];
  #nextShared = 0;
  readonly #out: Json[] = [];

  constructor(type: ListMapType | SetType, live: readonly Json[], config: readonly Json[]) {
    this.#type = type;
    this.#live = live;
    this.#liveSteps = live.map((item) => itemStep(type, item));
    this.#inLive = itemsByStep(type, live);
    this.#inConfig = itemsByStep(type, config);
    this.#configSteps = [...this.#inConfig.keys()];
    this.#shared = this.#configSteps.filter((step) => this.#inLive.has(step));
  }

  run(): Json[] {
    let [l, c] = [0, 0];
    while (l < this.#liveSteps.length || c < this.#configSteps.length) {
      const [mine, wanted] = [this.#liveSteps[l], this.#configSteps[c]];
      if (mine !== undefined && wanted !== undefined) {
        if (mine === wanted) {
          this.#take(wanted);
          this.#nextShared++;
          l++;
          c++;
          continue;
        }
        const awaited = this.#shared[this.#nextShared];
        // Shared, but not the one whose turn it is: it comes with its place in the configuration.
        if (this.#inConfig.has(mine) && awaited !== undefined && awaited !== mine) {
          l++;
          continue;
        }
      }
      if (mine !== undefined) {
        if (!this.#inConfig.has(mine)) {
          this.#out.push(this.#live[l++]!);
          continue;
        }
        if (this.#done.has(mine)) l++;
      }
      if (wanted !== undefined) {
        this.#take(wanted);
        if (this.#shared[this.#nextShared] === wanted) this.#nextShared++;
        c++;
      }
    }
    return this.#out;
  }

  #take(step: string): void {
    this.#done.add(step);
    const [live, config] = [this.#inLive.get(step), this.#inConfig.get(step)!];
    const type = this.#type.kind === 'listMap' ? this.#type.item() : undefined;
    this.#out.push(type ? mergeFields(type, live, config)! : (live ?? config));
  }
}
