/** What the widget says, in the languages of Cairn. */
export interface Texts {
  title: string;
  label: string;
  ask: string;
  stop: string;
  working: string;
  done: string;
  unsure: string;
  unknown: string;
  sources: string;
  source: string;
  failed: string;
  stopped: string;
}

const TEXTS: Record<string, Texts> = {
  en: {
    title: "Ask the documents", label: "Your question", ask: "Ask", stop: "Stop", working: "Searching …", done: "Answered.",
    unsure: "Not sure: compare the sources.", unknown: "The documents do not say.", sources: "Sources", source: "Open source",
    failed: "That did not work:", stopped: "Stopped.",
  },
  fr: {
    title: "Interroger les documents", label: "Votre question", ask: "Demander", stop: "Arrêter", working: "Recherche …",
    done: "Réponse trouvée.", unsure: "Incertain : comparez les sources.", unknown: "Les documents ne le disent pas.",
    sources: "Sources", source: "Ouvrir la source", failed: "Échec :", stopped: "Arrêté.",
  },
  de: {
    title: "Die Dokumente fragen", label: "Ihre Frage", ask: "Fragen", stop: "Anhalten", working: "Suche läuft …", done: "Beantwortet.",
    unsure: "Nicht sicher: bitte die Quellen vergleichen.", unknown: "Die Dokumente sagen es nicht.", sources: "Quellen",
    source: "Quelle öffnen", failed: "Das ging nicht:", stopped: "Angehalten.",
  },
  es: {
    title: "Preguntar a los documentos", label: "Su pregunta", ask: "Preguntar", stop: "Detener", working: "Buscando …",
    done: "Respondida.", unsure: "No es seguro: compare las fuentes.", unknown: "Los documentos no lo dicen.", sources: "Fuentes",
    source: "Abrir la fuente", failed: "No ha funcionado:", stopped: "Detenido.",
  },
  it: {
    title: "Chiedere ai documenti", label: "La sua domanda", ask: "Chiedi", stop: "Ferma", working: "Ricerca in corso …",
    done: "Risposta trovata.", unsure: "Non sicuro: confronti le fonti.", unknown: "I documenti non lo dicono.", sources: "Fonti",
    source: "Apri la fonte", failed: "Non ha funzionato:", stopped: "Fermato.",
  },
};

/** Those of the first language that there is, by their codes. */
export function textsOf(languages: readonly string[]): [string, Texts] {
  const codes = languages.map((one) => one.slice(0, 2).toLowerCase());
  const code = codes.find((one) => one in TEXTS) ?? "en";
  return [code, TEXTS[code] as Texts];
}
