// Made by `make reference` from the OpenAPI document; do not edit.
export {};
