import type { PodTerm, PodTerms } from '../../framework/pod-terms.ts';
import { createDomainCounts } from './domain-counts.ts';
import type { DomainColumns, LiveDomains } from './domains.ts';
import type { Carried, PodClass, PodClasses, Population, TermKind } from './pod-classes.ts';

/** The terms of the pods on nodes. */
export interface CarriedTerms {
  /** A pod that says this came to the node in `row`, or left it. */
  count(row: number, terms: PodTerms, sign: 1 | -1): void;
  /** The same of a pod whose node gets other domains. */
  place(row: number, terms: PodTerms, sign: 1 | -1): void;
  about(podClass: PodClass, kind: TermKind): readonly Carried[];
  readonly size: number;
}

export interface CarriedTermsOptions {
  readonly classes: PodClasses;
  readonly columns: DomainColumns;
}

interface LiveTerm extends Carried {
  readonly key: string;
  readonly population: Population;
  readonly domains: LiveDomains;
  /** How many sets of terms it is in. */
  sets: number;
}

/** All that one kind of pod says. */
interface TermSet {
  readonly terms: readonly { readonly term: LiveTerm; readonly weight: number }[];
  pods: number;
}

export function createCarriedTerms(options: CarriedTermsOptions): CarriedTerms {
  return new LiveCarriedTerms(options);
}

class LiveCarriedTerms implements CarriedTerms {
  readonly #options: CarriedTermsOptions;
  readonly #live = new Map<string, LiveTerm>();
  readonly #sets = new Map<string, TermSet>();

  constructor(options: CarriedTermsOptions) {
    this.#options = options;
  }

  count(row: number, terms: PodTerms, sign: 1 | -1): void {
    if (terms.key === '') return;
    const set = this.#sets.get(terms.key) ?? this.#createSet(terms);
    set.pods += sign;
    this.#place(row, set, sign);
    if (set.pods > 0) return;
    this.#sets.delete(terms.key);
    for (const { term } of set.terms) this.#release(term);
  }

  place(row: number, terms: PodTerms, sign: 1 | -1): void {
    if (terms.key !== '') this.#place(row, this.#sets.get(terms.key), sign);
  }

  about({ populations }: PodClass, kind: TermKind): readonly Carried[] {
    const found: Carried[] = [];
    for (const { terms } of populations) for (const term of terms) if (term.kind === kind) found.push(term);
    return found;
  }

  get size(): number {
    return this.#live.size;
  }

  #acquire(kind: TermKind, { selection, topologyKey }: PodTerm): LiveTerm {
    const key = `${kind}\n${selection.key}\n${topologyKey}`;
    const known = this.#live.get(key);
    if (known) {
      known.sets += 1;
      return known;
    }
    const population = this.#options.classes.populationOf(selection);
    const domains = this.#options.columns.acquire(topologyKey, key);
    const created: LiveTerm = { key, kind, population, domains, counts: createDomainCounts(), sets: 1 };
    population.terms.add(created);
    this.#live.set(key, created);
    return created;
  }

  #release(term: LiveTerm): void {
    term.sets -= 1;
    if (term.sets > 0) return;
    this.#live.delete(term.key);
    term.population.terms.delete(term);
    this.#options.classes.release(term.population);
    this.#options.columns.release(term.domains.key, term.key);
  }

  #createSet(terms: PodTerms): TermSet {
    const created: TermSet = {
      terms: [
        ...terms.anti.map((term) => ({ term: this.#acquire('anti', term), weight: 1 })),
        ...terms.required.map((term) => ({ term: this.#acquire('required', term), weight: 1 })),
        ...terms.preferred.map((term) => ({ term: this.#acquire('preferred', term), weight: term.weight })),
      ],
      pods: 0,
    };
    this.#sets.set(terms.key, created);
    return created;
  }

  #place(row: number, set: TermSet | undefined, sign: 1 | -1): void {
    for (const { term, weight } of set?.terms ?? []) {
      const domain = term.domains.ids[row]!;
      if (domain >= 0) term.counts.add(domain, sign * weight);
    }
  }
}
