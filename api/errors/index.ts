export * from './api-error.ts';
export * from './constructors.ts';
export * from './predicates.ts';
export * from './reasons.ts';
export * from './violations.ts';
