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

export function createCarriedTerms({ classes, columns }: CarriedTermsOptions): CarriedTerms {
  const live = new Map<string, LiveTerm>();
  const sets = new Map<string, TermSet>();

  function acquire(kind: TermKind, { selection, topologyKey }: PodTerm): LiveTerm {
    const key = `${kind}\n${selection.key}\n${topologyKey}`;
    const known = live.get(key);
    if (known) {
      known.sets += 1;
      return known;
    }
    const population = classes.populationOf(selection);
    const domains = columns.acquire(topologyKey, key);
    const created: LiveTerm = { key, kind, population, domains, counts: createDomainCounts(), sets: 1 };
    population.terms.add(created);
    live.set(key, created);
    return created;
  }

  function release(term: LiveTerm): void {
    term.sets -= 1;
    if (term.sets > 0) return;
    live.delete(term.key);
    term.population.terms.delete(term);
    classes.release(term.population);
    columns.release(term.domains.key, term.key);
  }

  function createSet(terms: PodTerms): TermSet {
    const created: TermSet = {
      terms: [
        ...terms.anti.map((term) => ({ term: acquire('anti', term), weight: 1 })),
        ...terms.required.map((term) => ({ term: acquire('required', term), weight: 1 })),
        ...terms.preferred.map((term) => ({ term: acquire('preferred', term), weight: term.weight })),
      ],
      pods: 0,
    };
    sets.set(terms.key, created);
    return created;
  }

  function place(row: number, set: TermSet | undefined, sign: 1 | -1): void {
    for (const { term, weight } of set?.terms ?? []) {
      const domain = term.domains.ids[row]!;
      if (domain >= 0) term.counts.add(domain, sign * weight);
    }
  }

  return {
    count(row, terms, sign) {
      if (terms.key === '') return;
      const set = sets.get(terms.key) ?? createSet(terms);
      set.pods += sign;
      place(row, set, sign);
      if (set.pods > 0) return;
      sets.delete(terms.key);
      for (const { term } of set.terms) release(term);
    },
    place(row, terms, sign) {
      if (terms.key !== '') place(row, sets.get(terms.key), sign);
    },
    about({ populations }, kind) {
      const found: Carried[] = [];
      for (const { terms } of populations) for (const term of terms) if (term.kind === kind) found.push(term);
      return found;
    },
    get size() {
      return live.size;
    },
  };
}
